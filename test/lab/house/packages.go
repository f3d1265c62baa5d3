package main

import "strings"

// filesOfPackages counts the files of each package below pkg.
func (c *code) filesOfPackages() measure {
	m := measure{name: filesMeasure, goal: "20", limit: 20}
	for _, p := range c.packages {
		if strings.HasPrefix(c.folder(p), "pkg/") {
			m.places = append(m.places, place{len(p.Syntax), c.folder(p)})
		}
	}
	return m
}

// linesOfPackages counts the lines of each package below pkg, including comments and blank lines.
func (c *code) linesOfPackages() measure {
	m := measure{name: linesMeasure, goal: "3,000", limit: 3000}
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

// linesOfFiles counts the lines of each file.
func (c *code) linesOfFiles() measure {
	m := measure{name: fileMeasure, goal: "400", limit: 400}
	for _, p := range c.packages {
		for _, file := range p.Syntax {
			end := p.Fset.Position(file.FileEnd - 1)
			m.places = append(m.places, place{end.Line, c.relative(end.Filename)})
		}
	}
	return m
}
