package cases

// notYet lists the cases that need what the broker does not do, with what that
// is. TestNotYet_EveryEntryStillFails keeps it honest.
var notYet = map[string]string{
	"A055": "CLUSTER DELSLOTS: its one node keeps all slots",
}

// needsMet are the needs of a case that every broker meets.
var needsMet = map[string]bool{
	"redis>=7.2": true, "better-than-redis": true, "valkey>=9": true, "tls": true, "password": true,
	"cluster": true,
}
