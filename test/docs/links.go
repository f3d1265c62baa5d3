package docs

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// Anchor returns the anchor that GitHub generates for a heading.
func Anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, heading)
}

// CheckLinks checks the links of all pages. A link inside the project must lead to an existing file, folder or heading.
// A link to another place must be a URL; it is not requested.
func CheckLinks(root string, pages []*Page) error {
	byPath := map[string]*Page{}
	for _, p := range pages {
		byPath[p.Path] = p
	}
	var errs []error
	for _, p := range pages {
		for _, link := range p.Links {
			if err := checkLink(root, byPath, p, link.Destination); err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: link to %q: %w", p.Path, link.Line, link.Destination, err))
			}
		}
	}
	return errors.Join(errs...)
}

func checkLink(root string, pages map[string]*Page, from *Page, destination string) error {
	target, err := url.Parse(destination)
	if err != nil {
		return err
	}
	if target.Scheme != "" {
		if target.Host == "" {
			return errors.New("no host")
		}
		return nil
	}
	file := from.Path
	if target.Path != "" {
		file = path.Join(path.Dir(from.Path), target.Path)
	}
	if _, err := os.Stat(filepath.Join(root, file)); err != nil {
		return errors.New("the file does not exist")
	}
	if target.Fragment == "" {
		return nil
	}
	page, found := pages[file]
	if !found {
		return errors.New("only headings of documentation pages have anchors")
	}
	if !page.Anchors[target.Fragment] {
		return errors.New("the heading does not exist")
	}
	return nil
}
