/* Runs the course with hiredis, which sends what it is given and hands back
 * each reply: it has no call for pub/sub. The steps and the lines are described
 * in the package that starts the programs, integration/clients. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#define MEBIBYTE (1 << 20)
#define NUMBERS 200
#define PATIENCE_SECONDS 15

static redisContext *client, *sub;

static void fail(const char *action, const char *reason)
{
	fprintf(stderr, "%s: %s\n", action, reason);
	exit(1);
}

/* Prints a payload as its length and checksum (CRC-32, as zlib's). */
static void print_payload(const redisReply *r)
{
	uint32_t crc = 0xffffffff;
	for (size_t i = 0; i < r->len; i++) {
		crc ^= (unsigned char)r->str[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	printf("%zu/%08x", (size_t)r->len, ~crc);
}

/* Returns the next reply, which the caller frees. */
static redisReply *reply_of(redisContext *c)
{
	redisReply *r;
	if (redisGetReply(c, (void **)&r) != REDIS_OK)
		fail("read a reply", c->errstr);
	if (r->type == REDIS_REPLY_ERROR)
		fail("the server says", r->str);
	return r;
}

/* Takes one reply of the subscribed connection and prints its line. */
static void take(void)
{
	redisReply *r = reply_of(sub);
	if (r->type != REDIS_REPLY_ARRAY || r->elements < 2)
		fail("take", "this is no message");
	const char *kind = r->element[0]->str;
	const redisReply *last = r->element[r->elements - 1];
	if (strcmp(kind, "pong") == 0) {
		printf("pong\n");
	} else if (last->type == REDIS_REPLY_INTEGER) {
		printf("%s %s %lld\n", kind, r->element[1]->str, last->integer);
	} else {
		printf("%s", kind);
		for (size_t i = 1; i + 1 < r->elements; i++)
			printf(" %s", r->element[i]->str);
		printf(" ");
		print_payload(last);
		printf("\n");
	}
	freeReplyObject(r);
}

static void take_all(int n)
{
	while (n-- > 0)
		take();
}

static void send_command(redisContext *c, const char *command)
{
	if (redisAppendCommand(c, command) != REDIS_OK)
		fail(command, c->errstr);
	int done = 0;
	while (!done)
		if (redisBufferWrite(c, &done) != REDIS_OK)
			fail(command, c->errstr);
}

static void print_count(const char *kind, const char *channel)
{
	redisReply *r = reply_of(client);
	printf("%s %s %lld\n", kind, channel, r->integer);
	freeReplyObject(r);
}

static void publish(const char *kind, const char *channel, const char *payload, size_t bytes)
{
	if (redisAppendCommand(client, "%s %s %b", kind, channel, payload, bytes) != REDIS_OK)
		fail(kind, client->errstr);
	print_count(kind, channel);
}

static redisContext *dial(void)
{
	struct timeval patience = {PATIENCE_SECONDS, 0};
	redisContext *c = redisConnect(getenv("BROKER_HOST"), atoi(getenv("BROKER_PORT")));
	if (c == NULL || c->err)
		fail("connect", c ? c->errstr : "no memory");
	redisSetTimeout(c, patience);
	const char *user = getenv("BROKER_USER"), *password = getenv("BROKER_PASSWORD");
	int status = REDIS_OK;
	if (user && *user)
		status = redisAppendCommand(c, "AUTH %s %s", user, password);
	else if (password && *password)
		status = redisAppendCommand(c, "AUTH %s", password);
	else
		return c;
	if (status != REDIS_OK)
		fail("AUTH", c->errstr);
	freeReplyObject(reply_of(c));
	return c;
}

/* Prints the field of CLIENT INFO's reply that follows name, " resp=". */
static void print_field(const char *info, const char *name)
{
	const char *value = strstr(info, name);
	if (value == NULL)
		fail(name, "not in the reply of CLIENT INFO");
	value += strlen(name);
	printf(" %.*s", (int)strcspn(value, " \n"), value);
}

int main(void)
{
	const char *steps = getenv("BROKER_STEPS") ? getenv("BROKER_STEPS") : "";
	int shard = strstr(steps, "shard") != NULL;
	client = dial();
	sub = dial();

	redisReply *info = redisCommand(client, "CLIENT INFO");
	if (info == NULL || info->type != REDIS_REPLY_STRING)
		fail("CLIENT INFO", "no text");
	printf("session");
	print_field(info->str, " resp=");
	print_field(info->str, " user=");
	printf("\n");
	freeReplyObject(info);

	send_command(sub, "SUBSCRIBE news weather");
	take_all(2);
	send_command(sub, "PSUBSCRIBE n*");
	take();
	if (shard) {
		send_command(sub, "SSUBSCRIBE orders");
		take();
	}

	char every_byte[256];
	for (int i = 0; i < 256; i++)
		every_byte[i] = (char)i;
	char *mebibyte = malloc(MEBIBYTE + 1);
	for (int i = 0; i < MEBIBYTE / 16; i++)
		sprintf(mebibyte + 16 * i, "%015d\n", i);

	publish("publish", "news", "hello", 5);
	publish("publish", "weather", every_byte, sizeof every_byte);
	publish("publish", "news", "", 0);
	publish("publish", "weather", mebibyte, MEBIBYTE);
	publish("publish", "void", "unheard", 7);
	take_all(6);
	if (shard) {
		publish("spublish", "orders", "shard", 5);
		take();
	}
	for (int i = 0; i < NUMBERS; i++)
		if (redisAppendCommand(client, "PUBLISH weather %d", i) != REDIS_OK)
			fail("PUBLISH", client->errstr);
	for (int i = 0; i < NUMBERS; i++)
		print_count("publish", "weather");
	take_all(NUMBERS);

	if (strstr(steps, "ping")) {
		send_command(sub, "PING still-there");
		take();
	}

	publish("publish", "news", "leave", 5);
	take_all(2);
	send_command(sub, "UNSUBSCRIBE news");
	take();
	publish("publish", "news", "pattern only", 12);
	take();

	send_command(sub, "PUNSUBSCRIBE n*");
	take();
	send_command(sub, "UNSUBSCRIBE weather");
	take();
	if (shard) {
		send_command(sub, "SUNSUBSCRIBE orders");
		take();
	}
	publish("publish", "weather", "late", 4);
	printf("done\n");
	free(mebibyte);
	redisFree(client);
	redisFree(sub);
	return 0;
}
