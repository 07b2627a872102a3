//go:build !unix

package broker

import "math"

// maxDescriptorClients returns how many clients the limit of open files leaves
// room for: there is no limit to ask for.
func maxDescriptorClients(int) int { return math.MaxInt }
