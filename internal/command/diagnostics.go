package command

import "broker/resp"

func moduleContainer() *command {
	return &command{
		name: "module", arity: -2,
		group: "server", since: "4.0.0", complexity: "that of the subcommand",
		summary: "Tells about modules, of which there are none.",
		subs: []*command{
			{
				name: "list", arity: 2, flags: flagAdmin | flagNoScript,
				tips:  []string{"nondeterministic_output_order"},
				since: "4.0.0", complexity: "O(1)",
				summary: "Lists the loaded modules: always none.",
				help: []string{
					"LIST",
					"    Return a list of loaded modules.",
				},
				run: always(func(w *resp.Writer) { w.Array(0) }),
			},
			helpCommand("5.0.0", 0),
		},
	}
}
