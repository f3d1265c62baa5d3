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

// Anchor is the anchor that GitHub gives to a heading.
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

// CheckLinks follows the links of all pages inside the project: files and folders must be there, and so must headings.
// What is elsewhere is not asked for, but must be a URL.
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
		return errors.New("no such file")
	}
	if target.Fragment == "" {
		return nil
	}
	page, found := pages[file]
	if !found {
		return errors.New("only headings of documentation have anchors")
	}
	if !page.Anchors[target.Fragment] {
		return errors.New("no such heading")
	}
	return nil
}
