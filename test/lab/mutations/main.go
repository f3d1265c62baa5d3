// Command mutations proves that the tests detect defects in the packages of the engine, such as plan, execute, observe,
// externals and related. It selects defects at random, applies one at a time, and runs the unit tests of the package
// and the conformance specs that should detect it. The files of the checkout are not changed.
//
//	go run ./test/lab/mutations -seed 7        ten mutations, selected by seed 7
//	go run ./test/lab/mutations -only claim    the mutations whose names contain claim
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "the seed of the random selection")
	count := flag.Int("count", 10, "the maximum number of mutations to run")
	only := flag.String("only", "", "select only mutations whose names contain this text")
	list := flag.Bool("list", false, "list the selected mutations and the specs that should detect them; run none")
	flag.Parse()
	chosen := choose(*seed, *count, *only)
	if *list {
		for _, m := range chosen {
			fmt.Printf("%-30s %-24s %s\n", m.name, m.file, m.focus)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fmt.Printf("seed %d: %d of %d mutations\n", *seed, len(chosen), len(mutations()))
	survived := 0
	for _, m := range chosen {
		found, err := m.run(ctx)
		fmt.Printf("%s (%s)\n%s", m.name, m.file, found)
		if err != nil {
			fmt.Printf("  %v\n", err)
		}
		if found.spec == "" {
			survived++
		}
	}
	fmt.Printf("%d caught by the conformance suite, %d not\n", len(chosen)-survived, survived)
	if survived > 0 {
		os.Exit(1)
	}
}

// choose selects mutations at random.
func choose(seed uint64, count int, only string) []mutation {
	var found []mutation
	for _, m := range mutations() {
		if strings.Contains(m.name, only) {
			found = append(found, m)
		}
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found[:min(count, len(found))]
}
