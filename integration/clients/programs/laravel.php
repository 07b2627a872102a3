<?php
// Broadcasts as Laravel does: one script, called through EVAL, publishes an
// event to several channels. A process of its own receives it with PSUBSCRIBE,
// as Laravel's listeners do, and prints each message.

const SCRIPT = <<<'LUA'
for i = 2, #ARGV do
  redis.call('publish', ARGV[i], ARGV[1])
end
LUA;

function connect() {
    $redis = new Redis();
    $redis->connect(getenv('BROKER_HOST'), (int) getenv('BROKER_PORT'));
    $redis->setOption(Redis::OPT_READ_TIMEOUT, 15);
    return $redis;
}

$child = pcntl_fork();
if ($child === 0) {
    $redis = connect();
    $received = 0;
    try {
        $redis->psubscribe(['*'], function ($redis, $pattern, $channel, $payload) use (&$received) {
            fwrite(STDOUT, "pmessage $pattern $channel $payload\n");
            if (++$received === 4) {
                $redis->close();
            }
        });
    } catch (RedisException $e) {
        // It says so too when it was closed on purpose.
    }
    exit($received === 4 ? 0 : 1);
}

$redis = connect();
while ($redis->pubsub('numpat') !== 1) {
    usleep(5000);
}
foreach (['placed', 'paid'] as $event) {
    $payload = json_encode(['event' => $event, 'socket' => null]);
    $reply = $redis->eval(SCRIPT, [$payload, 'private-orders.1', 'private-orders.2'], 0);
    fwrite(STDOUT, 'reply ' . json_encode($reply) . ' ' . json_encode($redis->getLastError()) . "\n");
}
pcntl_waitpid($child, $status);
fwrite(STDOUT, "done\n");
exit(pcntl_wexitstatus($status));
