package archtest

// A room is one folder of the house with everything below it.
type room struct {
	dir string // slash-separated, relative to the module

	// imports lists the rooms, by folder, and the modules from outside that
	// the room may import besides itself and the standard library. A room
	// may list only rooms from earlier rows: arrows point up in the table,
	// down in the house. The entry anything allows all earlier rooms and all
	// modules.
	imports []string

	// dataPlane rooms import no control plane room.
	dataPlane bool
}

const anything = "*"

// The modules the house is built with. The last group is for tests.
const (
	moduleRedcon     = "github.com/tidwall/redcon"
	moduleXsync      = "github.com/puzpuzpuz/xsync/v3"
	moduleSys        = "golang.org/x/sys"
	modulePrometheus = "github.com/prometheus/client_golang"

	moduleGoleak  = "go.uber.org/goleak"
	moduleRapid   = "pgregory.net/rapid"
	moduleGoRedis = "github.com/redis/go-redis/v9"
	moduleRegexp2 = "github.com/dlclark/regexp2"
	moduleModel   = "github.com/prometheus/client_model"
	moduleFormat  = "github.com/prometheus/common"
)

// house is the picture: the rooms from the bottom to the top.
//
// internal/glob is a leaf both planes use; nothing else below internal/ may
// be imported from the data plane.
var house = []room{
	{dir: "internal/glob", dataPlane: true},
	{dir: "rcu", dataPlane: true},
	{dir: "resp", dataPlane: true, imports: []string{moduleRedcon}},
	{dir: "channelstore", dataPlane: true, imports: []string{"rcu", "internal/glob", moduleXsync}},
	{dir: "shard", dataPlane: true, imports: []string{"internal/glob", "rcu", "resp", "channelstore", moduleXsync, moduleSys}},

	{dir: "internal/acl", imports: []string{"internal/glob", "rcu"}},
	{dir: "internal/config", imports: []string{"internal/glob"}},
	{dir: "internal/command", imports: []string{"internal/glob", "rcu", "resp", "channelstore", "shard", "internal/acl", "internal/config"}},
	{dir: "internal/metrics", imports: []string{"shard", "internal/command", modulePrometheus}},
	{dir: "internal/dashboard", imports: []string{moduleGoRedis}},
	{dir: "internal/admin"},
	{dir: "internal/broker", imports: []string{
		"internal/glob", "rcu", "resp", "channelstore", "shard",
		"internal/acl", "internal/config", "internal/command", "internal/metrics", "internal/admin", "internal/dashboard", moduleSys,
	}},
	{dir: "internal/cli", imports: []string{"resp", "internal/config"}},
	{dir: "cmd/broker", imports: []string{"internal/config", "internal/broker", "internal/cli"}},

	{dir: "bench", imports: []string{"rcu", "resp", "channelstore", "shard", moduleSys}},
	{dir: "packaging"},
	{dir: "integration", imports: []string{anything}},
	{dir: "internal/archtest"},
}

// testModules may be imported by test files of every room.
var testModules = []string{moduleGoleak, moduleRapid, moduleGoRedis, moduleRegexp2, moduleModel, moduleFormat}
