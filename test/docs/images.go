package docs

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Images is the folder of the pictures, relative to the project's root.
const Images = "docs/img"

// external matches what makes a picture load or run something: an address in an attribute or a style, except a
// reference to an element of the picture itself.
var external = regexp.MustCompile(`(?i)@import|\burl\(\s*["']?[^#"'\s]|\bimage-set\(|\bsrc\s*[:=]`)

// CheckImages checks the pictures. Each is an SVG that a page shows, with a title for readers who cannot see it, and
// with colours for light and dark pages. It neither runs nor loads anything. A page describes each picture that it
// shows in the alternative text.
func CheckImages(root string, pages []*Page) error {
	shown, errs := shownImages(pages)
	err := filepath.WalkDir(filepath.Join(root, Images), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := path.Join(Images, entry.Name())
		if !shown[name] {
			errs = append(errs, fmt.Errorf("%s: no page shows it", name))
		}
		if err := CheckImage(string(content)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// shownImages returns the paths of the images that pages show or link to, and an error for each without a description.
func shownImages(pages []*Page) (shown map[string]bool, errs []error) {
	shown = map[string]bool{}
	for _, page := range pages {
		for _, link := range page.Links {
			shown[path.Join(path.Dir(page.Path), link.Destination)] = true
			if link.Image && link.Text == "" {
				errs = append(errs, fmt.Errorf("%s:%d: the image %s has no alternative text", page.Path, link.Line,
					link.Destination))
			}
		}
	}
	return shown, errs
}

// CheckImage checks the content of an SVG.
func CheckImage(svg string) error {
	var errs []error
	title := ""
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		errs = append(errs, checkElement(element)...)
		if element.Name.Local == "title" && title == "" {
			if err := decoder.DecodeElement(&title, &element); err != nil {
				return err
			}
		}
	}
	if strings.TrimSpace(title) == "" {
		errs = append(errs, errors.New("it has no <title>"))
	}
	if found := external.FindString(svg); found != "" {
		errs = append(errs, fmt.Errorf("it may load something: %s", found))
	}
	if !strings.Contains(svg, "@media (prefers-color-scheme: dark)") {
		errs = append(errs, errors.New("it has no colours for dark pages"))
	}
	return errors.Join(errs...)
}

// checkElement refuses elements and attributes that run or load something.
func checkElement(element xml.StartElement) []error {
	var errs []error
	switch element.Name.Local {
	case "script", "foreignObject", "image", "iframe", "link", "a":
		errs = append(errs, fmt.Errorf("it has an element <%s>", element.Name.Local))
	}
	for _, attribute := range element.Attr {
		name := strings.ToLower(attribute.Name.Local)
		if strings.HasPrefix(name, "on") || name == "href" && !strings.HasPrefix(attribute.Value, "#") {
			errs = append(errs, fmt.Errorf("it has the attribute %s=%q", attribute.Name.Local, attribute.Value))
		}
	}
	return errs
}
