package unread

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
)

// maxRenderings is the number of renderings that are made to tell values apart.
const maxRenderings = 20

// Values returns the paths of those values of a request that nothing in its source reads, with dots between the keys.
func Values(ctx context.Context, req render.Request) []string {
	texts := textsIn(req.Source)
	suspects := unnamed(req.Values, nil, texts)
	if len(suspects) == 0 || len(suspects) > maxRenderings {
		return nil
	}
	with, err := render.Raw(ctx, req)
	if err != nil {
		return nil
	}
	unread := func(places ...[]string) bool {
		changed := req
		changed.Values = without(req.Values, places)
		objects, err := render.Raw(ctx, changed)
		return err == nil && equality.Semantic.DeepEqual(with, objects)
	}
	if !unread(suspects...) {
		suspects = slices.DeleteFunc(suspects, func(place []string) bool { return !unread(place) })
	}
	var paths []string
	for _, place := range suspects {
		paths = append(paths, strings.Join(place, "."))
	}
	slices.Sort(paths)
	return paths
}

// Message returns the warning about a value that nothing in a source reads.
func Message(value string) string {
	return fmt.Sprintf("nothing in the source reads the value %s; is it misspelt?", value)
}

// unnamed returns the places of the keys whose names occur in none of the texts, without places below such a key.
func unnamed(values map[string]any, above []string, texts []string) (places [][]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		place := append(slices.Clone(above), key)
		if !slices.ContainsFunc(texts, func(text string) bool { return hasWord(text, key) }) {
			places = append(places, place)
			continue
		}
		if below, ok := values[key].(map[string]any); ok {
			places = append(places, unnamed(below, place, texts)...)
		}
	}
	return places
}

// hasWord reports whether a text contains a word that is no part of a longer word.
func hasWord(text, word string) bool {
	for {
		at := strings.Index(text, word)
		if at < 0 || word == "" {
			return word == ""
		}
		end := at + len(word)
		if (at == 0 || !isWordByte(text[at-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
		text = text[at+1:]
	}
}

func isWordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// without returns a copy of values without the given places.
func without(values map[string]any, places [][]string) map[string]any {
	copied := runtime.DeepCopyJSON(values)
	for _, place := range places {
		at := copied
		for _, key := range place[:len(place)-1] {
			at, _ = at[key].(map[string]any)
		}
		delete(at, place[len(place)-1])
	}
	return copied
}

// textsIn returns the texts of a source that may name values: all files except for texts for people. Charts that are
// packed in the source are unpacked.
func textsIn(tree fs.FS) []string {
	var texts []string
	_ = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		switch {
		case err != nil, path.Ext(name) == ".md":
		case path.Ext(name) == ".tgz":
			texts = append(texts, packed(text)...)
		default:
			texts = append(texts, string(text))
		}
		return err
	})
	return texts
}

// packed returns the texts of a packed chart and its sub-charts.
func packed(archive []byte) []string {
	loaded, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return nil
	}
	return textsOf(loaded)
}

func textsOf(c *chart.Chart) (texts []string) {
	for _, file := range c.Raw {
		if path.Ext(file.Name) != ".md" {
			texts = append(texts, string(file.Data))
		}
	}
	for _, sub := range c.Dependencies() {
		texts = append(texts, textsOf(sub)...)
	}
	return texts
}
