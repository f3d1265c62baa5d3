package function

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// askedKind is the kind of the item of an answer that names the exports that a function asks for. The item has the
// annotation localConfig, so clients that do not know the kind ignore it.
const askedKind = "AskedExports"

// ask asks for the exports that an item of an answer names. Other items name none.
func ask(item *unstructured.Unstructured, req generator.Request) {
	if item.GetAPIVersion() != configAPIVersion || item.GetKind() != askedKind ||
		item.GetAnnotations()[localConfig] != "true" {
		return
	}
	asked, _, _ := unstructured.NestedStringSlice(item.Object, "spec", "names")
	for _, name := range asked {
		req.Exports.Value(name)
	}
}

// names collects the exports that a generator asks for. It is safe for concurrent use.
type names struct {
	mu    sync.Mutex
	asked map[string]bool
}

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked == nil {
		n.asked = map[string]bool{}
	}
	n.asked[name] = true
}

// items returns the item of an answer that names the exports; none if the generator asked for none.
func (n *names) items() []map[string]any {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.asked) == 0 {
		return nil
	}
	var list []any
	for _, name := range slices.Sorted(maps.Keys(n.asked)) {
		list = append(list, name)
	}
	return []map[string]any{{
		"apiVersion": configAPIVersion, "kind": askedKind,
		"metadata": map[string]any{"name": "asked", "annotations": map[string]any{localConfig: "true"}},
		"spec":     map[string]any{"names": list},
	}}
}
