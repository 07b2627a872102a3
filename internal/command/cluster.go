// The cluster: one node that owns all slots, for clients that are set up for
// a cluster, or none.
//
// redis.io/docs/latest/commands/?group=cluster

package command

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"

	"broker/resp"
	"broker/shard"
)

func clusterCommands() []*command {
	readMode := func(name, summary string, readonly bool) *command {
		return &command{
			name: name, arity: 1, flags: flagLoading | flagStale | flagFast, categories: categoryConnection,
			group: "cluster", since: "3.0.0", complexity: "O(1)",
			summary: summary,
			run:     inCluster(func(c *call) { c.setReadonly(readonly) }),
		}
	}
	return []*command{
		clusterContainer(),
		readMode("readonly", "Accepts that replicas be asked; there are none.", true),
		readMode("readwrite", "Takes READONLY back.", false),
	}
}

// inCluster returns a handler that answers as a server without cluster support
// where that is switched off.
func inCluster(run func(*call)) func(*call) {
	return func(c *call) {
		if !c.d.cfg.Cluster {
			c.fail(errNoCluster)
			return
		}
		run(c)
	}
}

func clusterContainer() *command {
	varying := []string{"nondeterministic_output"}
	row := func(name string, arity int, since, summary string, args []arg, tips, help []string, run func(*call)) *command {
		return &command{
			name: name, arity: arity, flags: flagStale, tips: tips, since: since, complexity: "O(1)",
			summary: summary, args: args, help: help, run: inCluster(run),
		}
	}
	help := helpCommand("5.0.0", 0)
	help.run = inCluster(help.run)
	return &command{
		name: "cluster", arity: -2, clusterOnly: true,
		group: "cluster", since: "3.0.0", complexity: "that of the subcommand",
		summary: "Describes a cluster of one node, this one, where cluster-enabled is set.",
		subs: []*command{
			row("countkeysinslot", 3, "3.0.0", "Counts the keys in a slot: always 0.",
				[]arg{{name: "slot", kind: kindInteger}}, nil,
				[]string{
					"COUNTKEYSINSLOT <slot>",
					"    Return the number of keys in <slot>.",
				}, (*call).countKeysInSlot),
			row("info", 2, "3.0.0", "Returns the state of the cluster.", nil, varying,
				[]string{
					"INFO",
					"    Return information about the cluster.",
				}, func(c *call) { c.reply().Verbatim("txt", clusterInfo) }),
			row("keyslot", 3, "3.0.0", "Returns the slot of a key or of a shard channel.",
				[]arg{{name: "key", kind: kindString}}, nil,
				[]string{
					"KEYSLOT <key>",
					"    Return the hash slot for <key>.",
				}, func(c *call) { c.reply().Int(int64(slotOf(c.args[2]))) }),
			row("myid", 2, "3.0.0", "Returns the id of this node.", nil, nil,
				[]string{
					"MYID",
					"    Return the node id.",
				}, func(c *call) { c.reply().BulkString(c.d.nodeID) }),
			row("myshardid", 2, "7.2.0", "Returns the id of the shard of the cluster that this node is in.", nil, varying,
				[]string{
					"MYSHARDID",
					"    Return the node's shard id.",
				}, func(c *call) { c.reply().BulkString(c.d.clusterShardID) }),
			row("nodes", 2, "3.0.0", "Describes the nodes of the cluster in a line each.", nil, varying,
				[]string{
					"NODES",
					"    Return cluster configuration seen by node. Output format:",
					"    <id> <ip:port> <flags> <master> <pings> <pongs> <epoch> <link> <slot> ...",
				}, (*call).clusterNodes),
			row("slots", 2, "3.0.0", "Returns which node serves which slots.", nil, varying,
				[]string{
					"SLOTS",
					"    Return information about slots range mappings. Each range is made of:",
					"    start, end, master and replicas IP addresses, ports and ids",
				}, (*call).clusterSlots),
			row("shards", 2, "7.0.0", "Returns the shards of the cluster with their slots and nodes.", nil, varying,
				[]string{
					"SHARDS",
					"    Return information about slot range mappings and the nodes associated with them.",
				}, (*call).clusterShards),
			row("links", 2, "7.0.0", "Lists the connections to other nodes: always none.", nil, varying,
				[]string{
					"LINKS",
					"    Return information about all network links between this node and its peers.",
					"    Output format is an array where each array element is a map containing attributes of a link",
				}, always(func(w *resp.Writer) { w.Array(0) })),
			help,
		},
	}
}

// clusterID returns the id of the cluster's one node, or of its shard: 40
// hexadecimal digits that are different for every run.
func clusterID(runID, of string) string {
	id := sha1.Sum([]byte(runID + of))
	return hex.EncodeToString(id[:])
}

// mode is the word for what kind of server this is.
func (d *Dispatcher) mode() string {
	if d.cfg.Cluster {
		return "cluster"
	}
	return "standalone"
}

// clusterInfo is the answer to CLUSTER INFO: nothing in it can change.
const clusterInfo = "cluster_state:ok\r\n" +
	"cluster_slots_assigned:16384\r\n" +
	"cluster_slots_ok:16384\r\n" +
	"cluster_slots_pfail:0\r\n" +
	"cluster_slots_fail:0\r\n" +
	"cluster_known_nodes:1\r\n" +
	"cluster_size:1\r\n" +
	"cluster_current_epoch:0\r\n" +
	"cluster_my_epoch:0\r\n" +
	"cluster_stats_messages_sent:0\r\n" +
	"cluster_stats_messages_received:0\r\n" +
	"total_cluster_links_buffer_limit_exceeded:0\r\n"

// busPortDistance is how far Redis puts the port for nodes from that for
// clients. Here nobody listens there.
const busPortDistance = 10000

// announced returns the address of this node as a client can reach it: the one
// that the client is connected to. Over a Unix socket there is no host, which
// clients take for the one they know.
func (d *Dispatcher) announced(s *shard.Session) (host string, port int) {
	in := s.Info()
	if addr, err := netip.ParseAddrPort(in.LocalAddr); err == nil && !in.Unix {
		return addr.Addr().Unmap().String(), int(addr.Port())
	}
	port, _ = strconv.Atoi(d.param("port"))
	return "", port
}

func (c *call) clusterNodes() {
	host, port := c.d.announced(c.session)
	c.reply().Verbatim("txt", fmt.Sprintf("%s %s:%d@%d myself,master - 0 0 0 connected 0-%d\n",
		c.d.nodeID, host, port, port+busPortDistance, lastSlot))
}

func (c *call) clusterSlots() {
	host, port := c.d.announced(c.session)
	w := c.reply()
	w.Array(1)
	w.Array(3)
	w.Int(0)
	w.Int(lastSlot)
	w.Array(4)
	w.BulkString(host)
	w.Int(int64(port))
	w.BulkString(c.d.nodeID)
	w.Map(0) // further names of the node
}

func (c *call) clusterShards() {
	host, port := c.d.announced(c.session)
	kind := "port"
	if c.d.param("tls-port") == strconv.Itoa(port) {
		kind = "tls-port"
	}
	w := c.reply()
	w.Array(1)
	w.Map(2)
	w.BulkString("slots")
	w.Array(2)
	w.Int(0)
	w.Int(lastSlot)
	w.BulkString("nodes")
	w.Array(1)
	w.Map(7)
	w.BulkString("id")
	w.BulkString(c.d.nodeID)
	w.BulkString(kind)
	w.Int(int64(port))
	w.BulkString("ip")
	w.BulkString(host)
	w.BulkString("endpoint")
	w.BulkString(host)
	w.BulkString("role")
	w.BulkString("master")
	w.BulkString("replication-offset")
	w.Int(0)
	w.BulkString("health")
	w.BulkString("online")
}

func (c *call) countKeysInSlot() {
	switch slot, ok := parseInt(c.args[2]); {
	case !ok:
		c.fail(errNotInteger)
	case slot < 0 || slot > lastSlot:
		c.fail(errSlot)
	default:
		c.reply().Int(0)
	}
}

// setReadonly answers READONLY and READWRITE, which CLIENT LIST shows.
func (c *call) setReadonly(readonly bool) {
	if st := stateOf(c.session); readonly || st != nil {
		ensureState(c.session).readonly = readonly
	}
	c.reply().OK()
}
