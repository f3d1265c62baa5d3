package main

import "strings"

// filesOfPackages counts the files of each package below pkg.
func (c *code) filesOfPackages() measure {
	m := measure{name: "files in the largest package of pkg/", goal: "18"}
	for _, p := range c.packages {
		if strings.HasPrefix(c.folder(p), "pkg/") {
			m.places = append(m.places, place{len(p.Syntax), c.folder(p)})
		}
	}
	return m
}

// linesOfPackages counts the lines of each package below pkg, including comments and blank lines.
func (c *code) linesOfPackages() measure {
	m := measure{name: "lines in the largest package of pkg/", goal: "2,500"}
	for _, p := range c.packages {
		if !strings.HasPrefix(c.folder(p), "pkg/") {
			continue
		}
		lines := 0
		for _, file := range p.Syntax {
			lines += p.Fset.Position(file.FileEnd - 1).Line
		}
		m.places = append(m.places, place{lines, c.folder(p)})
	}
	return m
}
