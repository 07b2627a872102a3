package command

// A commandFlag says something about a command to clients and proxies; see COMMAND
// INFO. Only the flags that some row needs exist.
type commandFlag uint16

const (
	flagWrite commandFlag = 1 << iota
	flagReadOnly
	flagAdmin
	flagPubSub
	flagNoScript
	flagLoading
	flagStale
	flagSkipMonitor
	flagSkipSlowlog
	flagFast
	flagNoAuth
	flagNoMandatoryKeys
	flagMovableKeys
	flagNoMulti
	flagAllowBusy
)

// flagNames are in the order in which Redis lists them.
var flagNames = []struct {
	flag commandFlag
	name string
}{
	{flagWrite, "write"},
	{flagReadOnly, "readonly"},
	{flagAdmin, "admin"},
	{flagPubSub, "pubsub"},
	{flagNoScript, "noscript"},
	{flagLoading, "loading"},
	{flagStale, "stale"},
	{flagSkipMonitor, "skip_monitor"},
	{flagSkipSlowlog, "skip_slowlog"},
	{flagFast, "fast"},
	{flagNoAuth, "no_auth"},
	{flagNoMandatoryKeys, "no_mandatory_keys"},
	{flagMovableKeys, "movablekeys"},
	{flagNoMulti, "no_multi"},
	{flagAllowBusy, "allow_busy"},
}

func (f commandFlag) names() []string {
	var names []string
	for _, n := range flagNames {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// A category is a group of commands in the sense of access control lists.
type category uint16

const (
	categoryKeyspace category = 1 << iota
	categoryRead
	categoryWrite
	categoryString
	categoryStream
	categoryPubSub
	categoryAdmin
	categoryFast
	categorySlow
	categoryDangerous
	categoryConnection
	categoryTransaction
	categoryScripting
)

// categoryNames are in the order in which Redis lists them.
var categoryNames = []struct {
	category category
	name     string
}{
	{categoryKeyspace, "keyspace"},
	{categoryRead, "read"},
	{categoryWrite, "write"},
	{categoryString, "string"},
	{categoryStream, "stream"},
	{categoryPubSub, "pubsub"},
	{categoryAdmin, "admin"},
	{categoryFast, "fast"},
	{categorySlow, "slow"},
	{categoryDangerous, "dangerous"},
	{categoryConnection, "connection"},
	{categoryTransaction, "transaction"},
	{categoryScripting, "scripting"},
}

func (c category) names() []string {
	var names []string
	for _, n := range categoryNames {
		if c&n.category != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// implied returns the categories that follow from flags, by Redis's rules.
func (f commandFlag) implied() category {
	c := categorySlow
	if f&flagFast != 0 {
		c = categoryFast
	}
	if f&flagReadOnly != 0 {
		c |= categoryRead
	}
	if f&flagWrite != 0 {
		c |= categoryWrite
	}
	if f&flagAdmin != 0 {
		c |= categoryAdmin | categoryDangerous
	}
	if f&flagPubSub != 0 {
		c |= categoryPubSub
	}
	return c
}
