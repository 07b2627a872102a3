// Package faults hurts a running broker and looks at what the others notice:
// it is told to stop under load, killed, left without descriptors, fed to
// clients that do not read, that come by the thousand, that vanish without a
// word, or whose place is taken at once by somebody else.
//
// Most tests run the real program as a process of its own, so that its memory,
// its descriptors and its exit status can be seen. Times are printed, not
// asserted: the machine is shared. What is asserted is that nothing counted is
// lost, that limits hold, and how things compare within one run.
//
// Linux only, as far as /proc is looked at.
package faults
