<?php
// Runs the course with phpredis. The steps and the lines are described in the
// package that starts the programs, integration/clients.
//
// The library's subscribe returns only with the connection, not when the last
// subscription has ended, so each kind of subscription has a process of its own
// and the first process publishes. The library shows no acks, does not connect
// again by itself, and refuses PING on a connection that is subscribed.

const PATIENCE_SECONDS = 15;

function emit(...$words) {
    fwrite(STDOUT, implode(' ', $words) . "\n");
}

function payload($p) {
    return sprintf('%d/%08x', strlen($p), crc32($p));
}

function connect() {
    $redis = new Redis();
    $host = getenv('BROKER_HOST');
    $port = (int) getenv('BROKER_PORT');
    if (getenv('BROKER_CA')) {
        $stream = ['cafile' => getenv('BROKER_CA'), 'verify_peer' => true, 'peer_name' => $host];
        $redis->connect("tls://$host", $port, 0, null, 0, 0, ['stream' => $stream]);
    } else {
        $redis->connect($host, $port);
    }
    if (getenv('BROKER_USER')) {
        $redis->auth([getenv('BROKER_USER'), getenv('BROKER_PASSWORD')]);
    } elseif (getenv('BROKER_PASSWORD')) {
        $redis->auth(getenv('BROKER_PASSWORD'));
    }
    $redis->setOption(Redis::OPT_READ_TIMEOUT, PATIENCE_SECONDS);
    return $redis;
}

// inChild runs work in a process of its own and returns its id. Work calls its
// second argument when it is through, in a callback of the library.
function inChild($work) {
    $pid = pcntl_fork();
    if ($pid === 0) {
        $redis = connect();
        $through = false;
        try {
            $work($redis, function () use ($redis, &$through) {
                $through = true;
                $redis->close();
            });
        } catch (RedisException $e) {
            if (!$through) {
                fwrite(STDERR, "$e\n");
            }
        }
        exit($through ? 0 : 1);
    }
    return $pid;
}

$children = [];
$children[] = inChild(function ($redis, $end) {
    $redis->subscribe(['news', 'weather'], function ($redis, $channel, $p) use ($end) {
        emit('message', $channel, payload($p));
        if ($p === 'leave') {
            $redis->unsubscribe([$channel]);
            if ($channel === 'weather') {
                $end();
            }
        }
    });
});
$children[] = inChild(function ($redis, $end) {
    $received = 0;
    $redis->psubscribe(['n*'], function ($redis, $pattern, $channel, $p) use (&$received, $end) {
        emit('pmessage', $pattern, $channel, payload($p));
        if (++$received === 4) {
            $redis->punsubscribe([$pattern]);
            $end();
        }
    });
});

$redis = connect();
$publish = function ($channel, $p) use ($redis) {
    emit('publish', $channel, $redis->publish($channel, $p));
};
// await waits until the channel has so many subscriptions, and the server so
// many patterns.
$await = function ($channel, $channels, $patterns) use ($redis) {
    $deadline = microtime(true) + PATIENCE_SECONDS;
    do {
        $c = (int) $redis->pubsub('numsub', [$channel])[$channel];
        $p = $redis->pubsub('numpat');
        if ($c === $channels && $p === $patterns) {
            return;
        }
        usleep(5000);
    } while (microtime(true) < $deadline);
    fwrite(STDERR, "waited for $channels subscriptions and $patterns patterns, there are $c and $p\n");
    exit(1);
};

preg_match('/ user=(\S+)/', $info = $redis->rawCommand('CLIENT', 'INFO'), $user);
preg_match('/ resp=(\d+)/', $info, $resp);
emit('session', $resp[1], $user[1]);

$await('weather', 1, 1);
$publish('news', 'hello');
$publish('weather', implode(array_map('chr', range(0, 255))));
$publish('news', '');
$publish('weather', implode(array_map(fn ($i) => sprintf("%015d\n", $i), range(0, (1 << 16) - 1))));
$publish('void', 'unheard');
$pipeline = $redis->multi(Redis::PIPELINE);
for ($i = 0; $i < 200; $i++) {
    $pipeline->publish('weather', (string) $i);
}
foreach ($pipeline->exec() as $n) {
    emit('publish', 'weather', $n);
}
$publish('news', 'leave');
$await('news', 0, 1);
$publish('news', 'pattern only');
$await('news', 0, 0);
$publish('weather', 'leave');
$await('weather', 0, 0);
$publish('weather', 'late');

$status = 0;
foreach ($children as $pid) {
    pcntl_waitpid($pid, $s);
    $status = $status ?: pcntl_wexitstatus($s);
}
emit('done');
exit($status);
