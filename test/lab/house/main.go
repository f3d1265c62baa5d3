// Command house prints measures of the structure of the code: the size of packages, types and functions, dependency
// cycles, and long lines. The measures are for information only: the exit code is 0 for any values, and 1 only if the
// code cannot be measured. A second table lists the places that are above a goal, with the reasons for it; those that
// have none come first.
//
//	go run ./test/lab/house                  this checkout
//	go run ./test/lab/house -C DIR           another checkout
//	go run ./test/lab/house -top 10          the ten worst places of each measure
//	go run ./test/lab/house -coverage        with the coverage of internal packages; takes minutes
//
// The command measures Go code, except generated files, files named _test.go, and folders named testdata and templates.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	dir := flag.String("C", ".", "root of the checkout that is measured")
	top := flag.Int("top", 1, "number of places that each measure names")
	coverage := flag.Bool("coverage", false, "print the coverage of each internal package by its unit tests")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "house: unexpected argument %q; -help lists the flags\n", flag.Arg(0))
		os.Exit(2)
	}
	measures, err := measureAll(context.Background(), *dir, *coverage)
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	writeTable(os.Stdout, measures, *top)
	writeReasons(os.Stdout, measures, reasons)
}

// measureAll returns all measures of the checkout in a folder.
func measureAll(ctx context.Context, dir string, coverage bool) ([]measure, error) {
	c, err := load(ctx, dir, "./...")
	if err != nil {
		return nil, err
	}
	measures := []measure{
		c.filesOfPackages(), c.linesOfPackages(), c.linesOfFiles(), c.methodsOfTypes(), c.fieldsOfStructs(),
		c.lengthOfFunctions(), c.longFunctions(), c.singleCallers(), c.fileCycles(), packageCycles(),
	}
	lines, err := c.longLines(dir)
	if err != nil {
		return nil, err
	}
	measures = append(measures, lines...)
	if coverage {
		covered, err := coverageOfEngine(ctx, dir)
		if err != nil {
			return nil, err
		}
		measures = append(measures, covered...)
	}
	return measures, nil
}

// packageCycles returns the constant 0, because the compiler refuses cycles between packages. The row is in the table
// for completeness.
func packageCycles() measure {
	return measure{name: "packages in one dependency cycle", summary: "0", goal: "0"}
}

// code is the Go code of the main module of a checkout, without tests and generated files.
type code struct {
	module   string
	packages []*packages.Package
	// dir is the root of the checkout. Places are relative to it.
	dir string
}
