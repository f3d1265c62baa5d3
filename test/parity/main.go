// Parity compares what Fairlead renders with what Helm and kustomize render themselves, on any charts and
// kustomizations:
//
//	go run ./test/parity [--kube-version 1.36.3] DIR[//PATH]...
//
// DIR is the source, and PATH the folder in it that is rendered. A chart is rendered with its own values, once more as
// an upgrade, and with each file of values in its folder ci; a kustomization is rendered as it is. The rivals are
// bin/helm and bin/kustomize, of the versions that Fairlead contains, each in a process of its own; "make parity"
// builds them.
//
// A rival runs twice, before Fairlead and after it. Where its own two runs differ, the chart draws random values or
// asks the clock, and nothing can be compared; such fields are counted, and told. All others must be equal, as sets of
// objects. Cluster look-ups find nothing for either, because none of the programs has a cluster.
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

// run returns the exit code: 1 where anything differs, 2 where nothing could be compared.
func run(ctx context.Context) int {
	kubeVersion := flag.String("kube-version", "1.36.3", "version of Kubernetes to render for")
	bin := flag.String("bin", "bin", "folder of the programs helm, kustomize and fairlead")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "parity: name folders of charts or kustomizations: make parity CHARTS=\"dir dir//path\"")
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
