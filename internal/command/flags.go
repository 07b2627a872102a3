package command

// A commandFlag says something about a command to clients and proxies; see COMMAND
// INFO. Only the flags that some row needs exist.
type commandFlag uint16

const (
	flagAdmin commandFlag = 1 << iota
	flagPubSub
	flagNoScript
	flagLoading
	flagStale
	flagFast
	flagNoAuth
	flagAllowBusy
)

// flagNames are in the order in which Redis lists them.
var flagNames = []struct {
	flag commandFlag
	name string
}{
	{flagAdmin, "admin"},
	{flagPubSub, "pubsub"},
	{flagNoScript, "noscript"},
	{flagLoading, "loading"},
	{flagStale, "stale"},
	{flagFast, "fast"},
	{flagNoAuth, "no_auth"},
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
type category uint8

const (
	categoryPubSub category = 1 << iota
	categoryAdmin
	categoryFast
	categorySlow
	categoryDangerous
	categoryConnection
)

// categoryNames are in the order in which Redis lists them.
var categoryNames = []struct {
	category category
	name     string
}{
	{categoryPubSub, "pubsub"},
	{categoryAdmin, "admin"},
	{categoryFast, "fast"},
	{categorySlow, "slow"},
	{categoryDangerous, "dangerous"},
	{categoryConnection, "connection"},
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
	if f&flagAdmin != 0 {
		c |= categoryAdmin | categoryDangerous
	}
	if f&flagPubSub != 0 {
		c |= categoryPubSub
	}
	return c
}
