// Package hostile sends what no client should: malformed streams, commands cut
// at every point, names full of line ends, floods, other protocols. The broker
// must answer and close as redis-server does, tell each command exactly one
// well-formed reply, run nothing that was not asked for, and be as good as new
// afterwards.
//
// Where Redis is the measure, the same bytes go to a redis-server that is
// started for the purpose.
//
// It does not fuzz: the decoder's and the command layer's fuzz targets are
// theirs. Inputs here are enumerated or drawn from a seed that a failure
// prints.
package hostile
