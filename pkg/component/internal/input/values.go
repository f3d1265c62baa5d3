package input

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

const (
	// maxValues bounds the values that are compared; inputs with more values are not compared.
	maxValues = 1000
	// maxParsed is the largest size of the data of a key whose values are compared, in bytes. Larger data is compared
	// as a whole.
	maxParsed = 64 << 10
	// maxPath is the largest size of the path of a value, in bytes. Inputs with a longer path are not compared: each value
	// of a long list would repeat the path.
	maxPath = 4 << 10
	// maxText is the largest size of a value that a change shows, in bytes.
	maxText = 60
	// maxChanges is the number of changes that are named, and maxChange bounds the text of a change, in bytes.
	maxChanges = 10
	maxChange  = 200
)

// Values are the single values of inputs, sorted by path. They tell in which values later inputs differ. They are kept
// in memory only, because they depend on contents of Secrets.
type Values []value

// value is a single value of the inputs.
type value struct {
	path string
	// text is the value. It is empty if the value is not shown: it comes from a Secret, its name is that of a secret, or
	// it is long.
	text string
	// hash identifies the value within this process.
	hash uint64
}

// seed makes the hashes of values useless for other processes.
var seed = maphash.MakeSeed()

// secretNames matches names of values that are not shown.
var secretNames = regexp.MustCompile(`(?i)passw|secret|token|credential|private|api_?key|access_?key`)

// IsSecretName reports whether the name of a value, such as login.password, says that the value is not to be shown.
func IsSecretName(path string) bool { return secretNames.MatchString(path) }

// Values returns the single values of inputs: parameters by their names, other fields of the spec with the prefix
// "spec.", and the contents of references after the name of the object. It returns nil if there are too many values.
// The source is not among them.
func (in Inputs) Values() Values {
	parameters, complete := valuesIn(in.Parameters, "", true)
	if !complete {
		return nil
	}
	spec, complete := in.specValues(parameters)
	if !complete {
		return nil
	}
	all := slices.Concat(parameters, spec)
	for _, ref := range in.References {
		all = append(all, ref.content.values...)
	}
	events, complete := in.eventSourceValues()
	if !complete {
		return nil
	}
	all = append(all, events...)
	if len(all) > maxValues {
		return nil
	}
	slices.SortFunc(all, func(a, b value) int { return strings.Compare(a.path, b.path) })
	return append(Values{}, all...)
}

// specValues returns the values of the rendered part of the spec that are neither parameters nor the source. The second
// result is false if there are too many values.
func (in Inputs) specValues(parameters []value) ([]value, bool) {
	data, err := json.Marshal(in.Rendered)
	if err != nil {
		return nil, true
	}
	var plain any
	if err := utiljson.Unmarshal(data, &plain); err != nil || plain == nil {
		return nil, true
	}
	all, complete := valuesIn(plain, "spec", true)
	return slices.DeleteFunc(all, func(v value) bool {
		if v.text != "" && (v.text == in.SourceDigest() || strings.HasSuffix(in.SourceName, " "+v.text)) {
			return true
		}
		return slices.ContainsFunc(parameters, func(p value) bool {
			return p.hash == v.hash && strings.HasSuffix(v.path, "."+p.path)
		})
	}), complete
}

// valuesOfData returns the values in the data of a referenced object. The values of a Secret are not shown.
func valuesOfData(ref generator.Reference, data map[string][]byte) []value {
	object, shown := fmt.Sprintf("%s %s: ", ref.Kind, ref.Name), ref.Kind != metav1alpha1.SecretReference
	var all []value
	for _, key := range slices.Sorted(maps.Keys(data)) {
		prefix := ""
		if len(data) > 1 {
			prefix = key + "/"
		}
		parsed := parseMap(data[key])
		if parsed == nil {
			all = append(all, value{path: object + key, hash: maphash.Bytes(seed, data[key])})
			continue
		}
		found, complete := valuesIn(parsed, "", shown)
		if !complete || len(all)+len(found) > maxValues {
			return nil
		}
		for _, v := range found {
			v.path = object + prefix + v.path
			all = append(all, v)
		}
	}
	if len(all) > maxValues {
		return nil
	}
	return all
}

// parseMap returns the map that a YAML text contains, nil if it contains none.
func parseMap(text []byte) map[string]any {
	if len(text) > maxParsed || bounded.CheckAliases(text, maxParsed) != nil {
		return nil
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil
	}
	var parsed map[string]any
	if err := utiljson.Unmarshal(asJSON, &parsed); err != nil {
		return nil
	}
	return parsed
}

// valuesIn returns the single values in plain data. The second result is false if there are too many values, or if a
// path is too long; then not all values are returned.
func valuesIn(data any, path string, shown bool) ([]value, bool) {
	c := collection{shown: shown}
	complete := c.add(data, path)
	return c.values, complete
}

// collection collects the single values of plain data.
type collection struct {
	values []value
	shown  bool
}

// add adds the values in plain data. It returns false, and stops, at the first value that exceeds a limit.
func (c *collection) add(data any, path string) bool {
	if len(path) > maxPath || len(c.values) > maxValues {
		return false
	}
	switch data := data.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(data)) {
			below := name
			if path != "" {
				below = path + "." + name
			}
			if !c.add(data[name], below) {
				return false
			}
		}
		if len(data) > 0 || path == "" {
			return true
		}
	case []any:
		for i, item := range data {
			if !c.add(item, fmt.Sprintf("%s[%d]", path, i)) {
				return false
			}
		}
		if len(data) > 0 {
			return true
		}
	}
	c.addSingle(data, path)
	return true
}

// hashOf returns the hash of a text within this process.
func hashOf(text string) uint64 { return maphash.String(seed, text) }

// addSingle adds a single value.
func (c *collection) addSingle(data any, path string) {
	text, err := json.Marshal(data)
	if err != nil {
		return
	}
	single := value{path: path, hash: maphash.Bytes(seed, text)}
	if c.shown && !IsSecretName(path) {
		single.text = textOf(data, string(text))
	}
	c.values = append(c.values, single)
}

// textOf returns the form in which a value is shown, and an empty text if it is not shown.
func textOf(data any, encoded string) string {
	text := encoded
	if s, ok := data.(string); ok && s != "" {
		text = s
	}
	if len(text) > maxText || strings.ContainsFunc(text, unicode.IsControl) {
		return ""
	}
	return text
}

// ChangesTo returns how later inputs differ, a text for each value, such as "replicas: 1 → 2". Many changes are
// shortened. The result is nil if one of the inputs has too many values.
func (v Values) ChangesTo(later Values) []string {
	if v == nil || later == nil {
		return nil
	}
	var changes []string
	for len(v) > 0 || len(later) > 0 {
		switch order := compareFirst(v, later); {
		case order < 0:
			changes, v = append(changes, v[0].path+": removed"), v[1:]
		case order > 0:
			changes, later = append(changes, later[0].added()), later[1:]
		default:
			if v[0].hash != later[0].hash {
				changes = append(changes, v[0].changedTo(later[0]))
			}
			v, later = v[1:], later[1:]
		}
	}
	return shorten(changes)
}

// compareFirst compares the paths of the first values. The end of a list comes after all paths.
func compareFirst(a, b Values) int {
	if len(a) == 0 || len(b) == 0 {
		return cmp.Compare(len(b), len(a))
	}
	return strings.Compare(a[0].path, b[0].path)
}

func (v value) added() string {
	if v.text == "" {
		return v.path + ": added"
	}
	return v.path + ": added, " + v.text
}

func (v value) changedTo(later value) string {
	if v.text == "" || later.text == "" {
		return v.path + ": changed"
	}
	return v.path + ": " + v.text + " → " + later.text
}

// shorten bounds the number and the size of changes.
func shorten(changes []string) []string {
	more := len(changes) - maxChanges
	changes = changes[:min(len(changes), maxChanges)]
	for i := range changes {
		changes[i] = passerror.Truncate(changes[i], maxChange)
	}
	if more > 0 {
		changes = append(changes, fmt.Sprintf("and %d more", more))
	}
	return changes
}
