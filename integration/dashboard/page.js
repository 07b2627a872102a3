'use strict';
// Usage: node page.js CHROMIUM URL SCREENSHOTS, and USER:PASSWORD for a viewer
// in VIEWER. The first line of an error is what went wrong; "ok" is printed at
// the end of each part.
const path = require('node:path');
const [executablePath, url, screenshots] = process.argv.slice(2);
const { chromium } = require(path.join(process.env.NODE_MODULES, 'playwright-core'));

const must = (what, ok) => { if (!ok) throw new Error(what); };

(async () => {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const faults = [];
  const open = async (credentials) => {
    const [username, password] = credentials.split(':');
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, httpCredentials: { username, password } });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    page.on('pageerror', (e) => faults.push(e.message));
    page.on('dialog', (d) => { faults.push('a script of the payload ran: ' + d.message()); d.dismiss(); });
    await page.goto(url);
    return page;
  };
  const shot = async (page, name) => { if (screenshots) await page.screenshot({ path: path.join(screenshots, name + '.png'), fullPage: true }); };

  const page = await open(process.env.ADMIN);
  await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
  console.log('ok open');

  // Opened by its name, since nothing was published to it yet.
  await page.getByLabel('Open a channel').fill('news.sport');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.locator('#tail-state', { hasText: 'sampled' }).waitFor();
  const payload = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  await page.getByLabel('Message').fill(payload);
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.locator('#publish-result', { hasText: '2 receivers' }).waitFor();
  const line = page.locator('#tail li', { hasText: payload });
  await line.waitFor();
  must('the payload became an element', await page.locator('#tail img, #tail script').count() === 0);
  console.log('ok publish and tail');

  await page.locator('#channels').getByRole('button', { name: 'news.sport', exact: true }).waitFor();
  await page.waitForFunction(() => document.getElementById('in').textContent.endsWith('/s'));
  await page.getByLabel('Filter').fill('no such channel');
  await page.locator('#channels .empty').waitFor();
  await page.getByLabel('Filter').fill('sport');
  await page.locator('#channels').getByRole('button', { name: 'news.sport', exact: true }).waitFor();
  console.log('ok update and filter');

  await page.locator('#channels th').getByRole('button', { name: 'Messages', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.locator('#channels th[aria-sort="descending"]', { hasText: /^Messages$/ }).waitFor();
  console.log('ok sort by keyboard');
  await shot(page, 'light');

  const victim = page.locator('#subscribers tr', { hasText: 'victim' });
  await victim.getByRole('button').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  must('Cancel closes the session', await victim.count() === 1);
  await victim.getByRole('button').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Close the session' }).click();
  await page.locator('#events li', { hasText: 'closed from here' }).waitFor();
  await victim.waitFor({ state: 'detached' });
  console.log('ok kill');

  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: 'dark' });
  must('the page is wider than a phone', await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await shot(page, 'dark-phone');
  console.log('ok phone');

  const viewer = await open(process.env.VIEWER);
  await viewer.getByRole('alert').filter({ hasText: 'NOPERM' }).waitFor();
  await viewer.getByLabel('Open a channel').fill('public.a');
  await viewer.getByRole('button', { name: 'Open' }).click();
  await viewer.locator('#tail-state', { hasText: 'sampled' }).waitFor();
  await viewer.getByLabel('Message').fill('x');
  await viewer.getByRole('button', { name: 'Publish' }).click();
  await viewer.locator('#publish-result', { hasText: 'NOPERM' }).waitFor();
  await viewer.getByLabel('Open a channel').fill('secret');
  await viewer.getByRole('button', { name: 'Open' }).click();
  await viewer.locator('#tail-state', { hasText: 'not allowed' }).waitFor();
  await shot(viewer, 'viewer');
  console.log('ok denied');

  must(faults.join('; '), faults.length === 0);
  await browser.close();
})().catch((e) => { console.error(e.message); process.exit(1); });
