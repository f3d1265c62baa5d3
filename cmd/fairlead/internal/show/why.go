package show

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/dependentcauses"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/operator"
)

// Why explains where an object, or one of its fields, comes from.
type Why struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Object     WhyObject `json:"object"`
	// Through are the objects between Object and its dependent in the chain of controller references. If the list is
	// not empty, the fields below describe the dependent.
	Through []string `json:"through,omitempty"`
	// Component is the component of the dependent.
	Component string `json:"component"`
	// Reconciler is the name of the reconciler of the component.
	Reconciler string `json:"reconciler"`
	Revision   int64  `json:"revision,omitempty"`
	// Recorded reports whether the inventory contains the dependent. Wave and DeleteWave are its waves in the inventory.
	Recorded   bool `json:"recorded"`
	Wave       int  `json:"wave"`
	DeleteWave int  `json:"deleteWave"`
	// DependsOn are the recorded dependencies of the dependent. If there are any, it belongs to no wave.
	DependsOn []string `json:"dependsOn,omitempty"`
	// HeldUp says which dependency, condition or exported value holds up the dependent, and the state or the value that
	// the operator saw; or for which export of another component its component waits.
	HeldUp string `json:"heldUp,omitempty"`
	// LeftOut says by which condition the object is left out, with the values that the condition read; empty if it is not.
	LeftOut string `json:"leftOut,omitempty"`
	// Bound are the first 20 fields in which the dependent binds exported values. A Secret has none.
	Bound []WhyBound `json:"bound,omitempty"`
	// Observed describes an object that the component only reads, and why the component waits for it.
	Observed string `json:"observed,omitempty"`
	// Settings are the settings in the annotations of the manifest.
	Settings map[string]string `json:"settings,omitempty"`
	// File is the template or manifest that renders the dependent.
	File string `json:"file,omitempty"`
	// Values are the values of spec.values that affect the rendered dependent or field.
	Values []operator.ValueOrigin `json:"values,omitempty"`
	// NotUpdated is the failure of the last write to the dependent, such as "Invalid: spec.type: …".
	NotUpdated string `json:"notUpdated,omitempty"`
	// NotReady says why the dependent is not ready, with the values that its condition ready-when saw.
	NotReady string `json:"notReady,omitempty"`
	// Causes are the reasons why the dependent is not ready, in the objects below it and in its Events.
	Causes []dependentcauses.Cause `json:"causes,omitempty"`
	// Unknown lists the facts that could not be determined, with reasons.
	Unknown []string  `json:"unknown,omitempty"`
	Field   *WhyField `json:"field,omitempty"`
}

// WhyObject identifies the object.
type WhyObject struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// WhyBound is a field that binds exported values.
type WhyBound struct {
	Path string `json:"path"`
	// Hole is the text of the manifest, such as "${{ dbHost }}".
	Hole string `json:"hole"`
	// Value is the value in the live object, which was bound last; nil if the live object does not have the field.
	Value any `json:"value"`
}

// maxBoundText is the maximum length of a text of a hole or of a bound value in a row, in bytes.
const maxBoundText = 120

// String returns the field, its value, and the text with holes.
func (b WhyBound) String() string {
	value := "has no value yet"
	if b.Value != nil {
		value = "= " + shortened(valueText(b.Value))
	}
	return fmt.Sprintf("%s %s, by %s", b.Path, value, shortened(b.Hole))
}

func shortened(text string) string {
	if text = oneLine(text); len(text) <= maxBoundText {
		return text
	}
	return strings.ToValidUTF8(text[:maxBoundText], "") + "..."
}

// WhyField explains a field.
type WhyField struct {
	Path string `json:"path"`
	// Value is the live value of the field. Values of Secrets are masked.
	Value any `json:"value"`
	// Unknown reports whether the manifest is unknown. Then Rendered and Differs have no meaning.
	Unknown bool `json:"unknown,omitempty"`
	// Rendered reports whether the manifest sets the field. Differs reports whether the manifest sets another value.
	Rendered bool `json:"rendered"`
	Differs  bool `json:"differs"`
	// Binds are the texts with holes that the manifest has in the field or below it. Differs is false then, because the
	// operator computes the values.
	Binds []string `json:"binds,omitempty"`
	// Ignored says by which rule the field is left to others; empty if it is not.
	Ignored string `json:"ignored,omitempty"`
	// Managers are the field managers, the latest first. If the list is empty, the value is a default of the API server.
	Managers []changes.Manager `json:"managers"`
}

// String returns the kind and the name of the object as tables show them.
func (o WhyObject) String() string {
	return withGroup(o.Kind, o.Group) + " " + withNamespace(o.Namespace, o.Name)
}

// Print writes the explanation.
func (w Why) Print(o Output) error {
	w.APIVersion, w.Kind = SchemaVersion, "Why"
	if o.Structured() {
		return o.write(w)
	}
	var rows [][]cell
	add := func(title, text string) {
		if text != "" {
			rows = append(rows, []cell{{text: title, tone: terminal.Strong}, {text: oneLine(text)}})
		}
	}
	add("object", w.Object.String())
	for _, through := range w.Through {
		add("made by", through)
	}
	add("component", w.Component+w.revision())
	add("reconciler", w.Reconciler)
	switch {
	case len(w.DependsOn) > 0:
		add("depends on", strings.Join(w.DependsOn, ", "))
	case w.Recorded:
		add("wave", fmt.Sprintf("%d; deleted in wave %d", w.Wave, w.DeleteWave))
	}
	add("observed", w.Observed)
	add("settings", w.settings())
	add("file", w.File)
	for i, v := range w.Values {
		title := ""
		if i == 0 {
			title = "values"
		}
		rows = append(rows, []cell{{text: title, tone: terminal.Strong}, {text: oneLine(v.Path + " (" + v.From + ")")}})
	}
	if w.isConstant() {
		add("values", "no value affects the object")
	}
	w.Field.add(add, len(w.Through) > 0)
	for i, b := range w.Bound {
		title := ""
		if i == 0 {
			title = "bound"
		}
		rows = append(rows, []cell{{text: title, tone: terminal.Strong}, {text: b.String()}})
	}
	add("left out", w.LeftOut)
	add("not updated", w.NotUpdated)
	add("held up", w.HeldUp)
	add("not ready", w.NotReady)
	for _, c := range w.Causes {
		add("not ready", c.String())
	}
	for _, unknown := range w.Unknown {
		add("unknown", unknown)
	}
	_, err := io.WriteString(o, lines(columns(o.Palette, rows)))
	return err
}

// isConstant reports whether no value affects the rendered dependent or field.
func (w Why) isConstant() bool {
	return w.File != "" && len(w.Values)+len(w.Unknown) == 0 && (w.Field == nil || w.Field.Rendered)
}

func (w Why) revision() string {
	if w.Revision == 0 {
		return ""
	}
	return fmt.Sprintf(", revision %d", w.Revision)
}

func (w Why) settings() string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(w.Settings)) {
		texts = append(texts, key+": "+w.Settings[key])
	}
	return strings.Join(texts, ", ")
}

// valueText returns a string unchanged, and other values as JSON.
func valueText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSpace(text.String())
}

// add adds the rows of a field. Made reports whether a controller created the object, so that no manifest has the
// field.
func (f *WhyField) add(add func(title, text string), made bool) {
	if f == nil {
		return
	}
	add("field", f.Path+" = "+valueText(f.Value))
	switch {
	case made:
		add("manifest", "none: a controller made this object")
	case len(f.Binds) > 0:
		add("manifest", "it binds exported values: "+shortened(strings.Join(f.Binds, ", ")))
	case f.Unknown:
		add("manifest", "it is unknown whether the manifest sets this field")
	case f.Differs:
		add("manifest", "it sets another value")
	case f.Rendered:
		add("manifest", "it sets this value")
	default:
		add("manifest", "it does not set this field")
	}
	add("ignored", f.Ignored)
	if len(f.Managers) == 0 {
		add("managed by", "no manager: the value is a default of the API server")
	}
	for _, m := range f.Managers {
		how := m.Operation
		if m.Subresource != "" {
			how += " of " + m.Subresource
		}
		text := fmt.Sprintf("%s (%s)", m.Name, how)
		if !m.Time.IsZero() {
			text += " at " + m.Time.Format(time.RFC3339)
		}
		add("managed by", text)
	}
}
