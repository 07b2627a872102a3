package acl

// Limits that Redis does not have. The arguments of a request have met the
// limits of its parser; these keep the work for a rule, and what is kept of
// it, in proportion.
const (
	// maxPatternBytes is the longest key or channel pattern. Matching a
	// pattern costs up to its length times that of the channel.
	maxPatternBytes = 4096

	// maxCommandRules is the number of rules about commands that are kept for
	// one selector: twice as many as there are commands and categories, the
	// rest being first arguments, of which there could be any number.
	maxCommandRules = 1024

	// maxSelectors is the number of selectors of one user, the one outside
	// parentheses included. Each costs every check of a refused command.
	maxSelectors = 1024

	// maxFileBytes is the size of an ACL file.
	maxFileBytes = 64 << 20

	// maxReportBytes is where the list of what is wrong with a file ends.
	maxReportBytes = 64 << 10

	// maxLogTextBytes is where the ACL log cuts an object or a name: a client
	// chooses both.
	maxLogTextBytes = 4096
)
