# Runs the course with the Perl module Redis. The steps and the lines are
# described in the package that starts the programs, integration/clients.
#
# It waits for the acks but does not show them, and refuses PING on a connection
# that is subscribed.

use strict;
use warnings;

use Compress::Raw::Zlib ();
use Redis;

use constant PATIENCE_SECONDS => 15;

$| = 1;
binmode STDOUT;

sub emit { print join(' ', @_), "\n" }

sub payload { sprintf '%d/%08x', length $_[0], Compress::Raw::Zlib::crc32($_[0]) }

sub connection {
    my %options = (
        server    => "$ENV{BROKER_HOST}:$ENV{BROKER_PORT}",
        reconnect => PATIENCE_SECONDS,
        every     => 5_000,                                   # microseconds
        encoding  => undef,                                   # bytes stay bytes
    );
    if ($ENV{BROKER_CA}) {
        # It does not hand the name of the file on.
        require IO::Socket::SSL;
        IO::Socket::SSL::set_defaults(SSL_ca_file => $ENV{BROKER_CA});
        $options{ssl} = 1;
    }
    $options{username} = $ENV{BROKER_USER}     if $ENV{BROKER_USER};
    $options{password} = $ENV{BROKER_PASSWORD} if $ENV{BROKER_PASSWORD};
    return Redis->new(%options);
}

my %steps  = map { $_ => 1 } split ' ', $ENV{BROKER_STEPS} // '';
my $client = connection();
my $sub    = connection();
my %lines;    # the number of lines of each kind

# await takes messages until n of a kind were emitted.
sub await {
    my ($kind, $n) = @_;
    my $deadline = time + PATIENCE_SECONDS;
    while (($lines{$kind} // 0) < $n) {
        $sub->wait_for_messages(0.02);
        die "waited for $n lines of $kind, there are ", $lines{$kind} // 0, "\n" if time > $deadline;
    }
}

my $on_message = sub {
    my ($p, $channel) = @_;
    emit('message', $channel, payload($p));
    $lines{message}++;
};
my $on_pattern_message = sub {
    my ($p, $channel, $pattern) = @_;
    emit('pmessage', $pattern, $channel, payload($p));
    $lines{pmessage}++;
};

sub publish {
    my ($channel, $p) = @_;
    emit('publish', $channel, $client->publish($channel, $p));
}

my $info = $client->client('info');
my ($resp) = $info =~ / resp=(\d+)/;
my ($user) = $info =~ / user=(\S+)/;
emit('session', $resp, $user);

$sub->subscribe('news', 'weather', $on_message);
$sub->psubscribe('n*', $on_pattern_message);

publish('news',    'hello');
publish('weather', join '', map { chr } 0 .. 255);
publish('news',    '');
publish('weather', join '', map { sprintf "%015d\n", $_ } 0 .. (1 << 16) - 1);
publish('void',    'unheard');
# A callback instead of the wait for a reply makes it a pipeline.
for my $i (0 .. 199) {
    $client->publish('weather', $i, sub {
        my ($n, $error) = @_;
        die $error if defined $error;
        emit('publish', 'weather', $n);
    });
}
$client->wait_all_responses;
await('message',  204);
await('pmessage', 2);

publish('news', 'leave');
await('message', 205);
$sub->unsubscribe('news', $on_message);
publish('news', 'pattern only');
await('pmessage', 4);

if ($steps{reconnect}) {
    my ($killed) = $client->client('list', 'type', 'pubsub') =~ /^id=(\d+)/;
    emit('killing');
    emit('killed', $client->client('kill', 'type', 'pubsub'));
    # It finds out while it waits, and subscribes again before it waits on.
    my $deadline = time + PATIENCE_SECONDS;
    while (1) {
        $sub->wait_for_messages(0.02);
        my $list = $client->client('list', 'type', 'pubsub');
        last if $list =~ /\Aid=(\d+) .* sub=1 psub=1 .*\n?\z/ && $1 != $killed;
        die "it did not subscribe again\n" if time > $deadline;
    }
    publish('weather', 'again');
    publish('news',    'again');
    await('message',  206);
    await('pmessage', 5);
}

$sub->punsubscribe('n*', $on_pattern_message);
$sub->unsubscribe('weather', $on_message);
publish('weather', 'late');
emit('done');
