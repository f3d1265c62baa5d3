// Command parity compares the output of Fairlead with the output of Helm and kustomize, for any charts and
// kustomizations:
//
//	go run ./test/lab/parity [--kube-version 1.36.3] DIR[//PATH]...
//
// DIR is the source, and PATH is the rendered folder inside of it. A chart is rendered with its own values, again as an
// upgrade, and with each values file in its folder ci. A kustomization is rendered once. The rivals are bin/helm and
// bin/kustomize, in the versions that Fairlead contains. Each runs as a separate process; "make parity" builds them.
//
// A rival runs twice, before Fairlead and after it. If its two runs differ in a field, the chart uses random values or
// the clock, and the field cannot be compared. The report counts and lists such fields. All other fields must be equal,
// as sets of objects. Look-ups find no objects, because no program has a cluster.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx)
	stop()
	os.Exit(code)
}

// run returns the exit code: 1 if a case differs, and 2 if no case could be compared.
func run(ctx context.Context) int {
	kubeVersion := flag.String("kube-version", "1.36.3", "version of Kubernetes to render for")
	bin := flag.String("bin", "bin", "folder of the programs helm, kustomize and fairlead")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(
			os.Stderr,
			"parity: want folders of charts or kustomizations as arguments: make parity CHARTS=\"dir dir//path\"",
		)
		return 2
	}
	home, err := os.MkdirTemp("", "parity-")
	if err != nil {
		fmt.Fprintf(os.Stderr, "parity: %v\n", err)
		return 2
	}
	defer func() { _ = os.RemoveAll(home) }()
	p := programs{bin: *bin, home: home, kubeVersion: *kubeVersion}
	var results []result
	for _, place := range flag.Args() {
		cases, err := casesOf(place)
		if err != nil {
			fmt.Fprintf(os.Stderr, "parity: %v\n", err)
			return 2
		}
		for _, c := range cases {
			results = append(results, p.compare(ctx, c))
			if ctx.Err() != nil {
				fmt.Fprintln(os.Stderr, "parity: interrupted")
				return 2
			}
		}
	}
	return report(os.Stdout, results)
}
