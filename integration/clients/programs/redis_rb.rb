# Runs the course with redis-rb. The steps and the lines are described in the
# package that starts the programs, integration/clients.
#
# The library's subscribe returns when the subscriptions have ended: until then
# everything happens in what it calls for each line of the server, and what has
# to follow a line stands in Course#after. It does not connect again by itself.

require "redis"
require "zlib"

$stdout.sync = true
$stdout.binmode

def emit(*words)
  $stdout.write(words.join(" ") + "\n")
end

def payload(p)
  format("%d/%08x", p.bytesize, Zlib.crc32(p))
end

def connect
  ca = ENV["BROKER_CA"].to_s
  options = { host: ENV["BROKER_HOST"], port: ENV["BROKER_PORT"].to_i, reconnect_attempts: 0 }
  options[:username] = ENV["BROKER_USER"] unless ENV["BROKER_USER"].to_s.empty?
  options[:password] = ENV["BROKER_PASSWORD"] unless ENV["BROKER_PASSWORD"].to_s.empty?
  options.merge!(ssl: true, ssl_params: { ca_file: ca }) unless ca.empty?
  Redis.new(options)
end

class Course
  def initialize
    @client = connect
    @sub = connect
    @lines = Hash.new(0) # the number of lines of each kind
    @steps = ENV["BROKER_STEPS"].to_s.split
  end

  def run
    info = @client.call("CLIENT", "INFO")
    emit("session", info[/ resp=(\d+)/, 1], info[/ user=(\S+)/, 1])
    @sub.subscribe("news", "weather") do |on|
      on.subscribe { |channel, n| line("subscribe", channel, n) }
      on.psubscribe { |pattern, n| line("psubscribe", pattern, n) }
      on.unsubscribe { |channel, n| line("unsubscribe", channel, n) }
      on.punsubscribe { |pattern, n| line("punsubscribe", pattern, n) }
      on.message { |channel, p| line("message", channel, payload(p)) }
      on.pmessage { |pattern, channel, p| line("pmessage", pattern, channel, payload(p)) }
      on.callbacks["pong"] = ->(_) { line("pong") } # it has no name for this one
    end
    publish("weather", "late")
    emit("done")
  end

  private

  def publish(channel, p)
    emit("publish", channel, @client.publish(channel, p))
  end

  def line(kind, *words)
    emit(kind, *words)
    @lines[kind] += 1
    after(kind, @lines[kind])
  end

  # after does what follows the nth line of a kind.
  def after(kind, n)
    case [kind, n]
    when ["subscribe", 2]
      @sub.psubscribe("n*")
    when ["psubscribe", 1]
      publish_all
    when ["message", 204]
      @steps.include?("ping") ? @sub.ping : publish("news", "leave")
    when ["pong", 1]
      publish("news", "leave")
    when ["message", 205]
      @sub.unsubscribe("news")
    when ["unsubscribe", 1]
      publish("news", "pattern only")
    when ["pmessage", 4]
      @sub.punsubscribe("n*")
    when ["punsubscribe", 1]
      @sub.unsubscribe("weather")
    end
  end

  def publish_all
    publish("news", "hello")
    publish("weather", (0..255).to_a.pack("C*"))
    publish("news", "")
    publish("weather", (0...(1 << 16)).map { |i| format("%015d\n", i) }.join)
    publish("void", "unheard")
    counts = @client.pipelined { |pipeline| 200.times { |i| pipeline.publish("weather", i.to_s) } }
    counts.each { |n| emit("publish", "weather", n) }
  end
end

Course.new.run
