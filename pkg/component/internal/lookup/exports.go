package lookup

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/json"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// maxAskedExports is the maximum number of exports that a rendering asks for.
const maxAskedExports = 256

// AskedExports notes the exports that the renderings of some inputs ask for. It is safe for concurrent use.
type AskedExports struct {
	known map[string]metav1alpha1.AskedExport
	lost  bool

	mu    sync.Mutex
	asked map[string]bool
	err   error
}

// NoteExports returns the exports for a generator, with the known values, and what the generator asks of them. lost is
// set if other exports may have had a value.
func NoteExports(known []metav1alpha1.AskedExport, lost bool) (generator.Exports, *AskedExports) {
	a := &AskedExports{known: map[string]metav1alpha1.AskedExport{}, lost: lost, asked: map[string]bool{}}
	values := map[string]any{}
	for _, e := range known {
		var value any
		if e.Value != "" && json.Unmarshal([]byte(e.Value), &value) == nil {
			values[e.Name] = value
		}
		a.known[e.Name] = e
	}
	return generator.NewExports(values).OnAsk(a.ask), a
}

func (a *AskedExports) ask(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.asked[name]:
	case !settingtext.IsExportName(name):
		a.err = fmt.Errorf(
			"the rendering asks for export %.80q; the names of exports have letters, digits and _, and at most %d characters",
			name, settingtext.MaxExportName,
		)
	case len(a.asked) == maxAskedExports:
		a.err = fmt.Errorf("the rendering asks for more than %d exports", maxAskedExports)
	default:
		a.asked[name] = true
	}
}

// Check returns an error if the renderings asked for too many exports, or for a name that no export can have.
func (a *AskedExports) Check() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// Results returns the exports that the renderings asked for, sorted by name; nil if there are none.
func (a *AskedExports) Results() []metav1alpha1.AskedExport {
	a.mu.Lock()
	defer a.mu.Unlock()
	var results []metav1alpha1.AskedExport
	for name := range a.asked {
		e, found := a.known[name]
		if !found {
			e = metav1alpha1.AskedExport{Name: name, Lost: a.lost}
		}
		results = append(results, e)
	}
	slices.SortFunc(results, func(x, y metav1alpha1.AskedExport) int { return strings.Compare(x.Name, y.Name) })
	return results
}

// ExportsOf returns the exports in a status. An unreadable line counts as an export that was lost.
func ExportsOf(status *metav1alpha1.Status) []metav1alpha1.AskedExport {
	var exports []metav1alpha1.AskedExport
	for _, line := range status.AskedExports {
		e, err := metav1alpha1.ParseAskedExport(line)
		if err != nil {
			name, _, _ := strings.Cut(line, "=")
			e = metav1alpha1.AskedExport{Name: name, Lost: true}
		}
		exports = append(exports, e)
	}
	return exports
}

// GetsSameValues reports whether another rendering that asks for the same exports gets the same values. known are the
// values that it gets.
func GetsSameValues(asked, known []metav1alpha1.AskedExport) bool {
	for _, e := range asked {
		i := slices.IndexFunc(known, func(k metav1alpha1.AskedExport) bool { return k.Name == e.Name })
		if i < 0 && e.Value != "" || i >= 0 && known[i].Value != e.Value {
			return false
		}
	}
	return true
}

// ExportLines returns the lines that are entered into the status as Status.AskedExports.
func (l Lookups) ExportLines() []string {
	var lines []string
	for _, e := range l.Exports {
		lines = append(lines, e.String())
	}
	return lines
}

// exportsRecorded reports whether the status has the exports with equal values.
func (l Lookups) exportsRecorded(status *metav1alpha1.Status) bool {
	return slices.Equal(l.ExportLines(), status.AskedExports)
}
