//go:build !unix

package command

// cpu writes nothing: the processor time is not to be had portably.
func (r *report) cpu() {}
