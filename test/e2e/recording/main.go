// Command recording renders an asciicast v2 of the demo as an animated SVG, for the project's first page. It
// understands what the demo prints: lines, and the styles of the narrator. Run it with "make recording".
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	cast := flag.String("cast", "bin/demo.cast", "the asciicast v2")
	svg := flag.String("svg", "docs/img/demo.svg", "the SVG to write")
	flag.Parse()
	if err := run(*cast, *svg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	r, err := read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(to, []byte(render(r)), 0o644)
}
