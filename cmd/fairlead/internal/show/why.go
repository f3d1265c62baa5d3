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
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/operator"
)

// Why says where an object, or a field of it, comes from.
type Why struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Object     WhyObject `json:"object"`
	// Through are the objects whose controllers made this one, up to the dependent that the rest is about.
	Through []string `json:"through,omitempty"`
	// Component is whose dependent it is.
	Component string `json:"component"`
	// Reconciler is the name of its operator.
	Reconciler string `json:"reconciler"`
	Revision   int64  `json:"revision,omitempty"`
	// Wave and DeleteWave are those of the record; Recorded says that there is one.
	Recorded   bool `json:"recorded"`
	Wave       int  `json:"wave"`
	DeleteWave int  `json:"deleteWave"`
	// Settings are those that the manifest has.
	Settings map[string]string `json:"settings,omitempty"`
	// File is the template or manifest.
	File string `json:"file,omitempty"`
	// Values have a part in it.
	Values []operator.ValueOrigin `json:"values,omitempty"`
	// Unknown are what cannot be told, and why.
	Unknown []string  `json:"unknown,omitempty"`
	Field   *WhyField `json:"field,omitempty"`
}

// WhyObject names the object.
type WhyObject struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// WhyField is what there is to know of a field.
type WhyField struct {
	Path string `json:"path"`
	// Value is the live one; that of a Secret is withheld.
	Value any `json:"value"`
	// Unknown says that it is not known what the manifest says, so that Rendered and Differs tell nothing.
	Unknown bool `json:"unknown,omitempty"`
	// Rendered says that the manifest sets it, and Differs that it sets another value.
	Rendered bool `json:"rendered"`
	Differs  bool `json:"differs"`
	// Managers manage it, the last one first; where there is none the API server filled it in.
	Managers []changes.Manager `json:"managers"`
}

// String returns the name as tables have it.
func (o WhyObject) String() string {
	return withGroup(o.Kind, o.Group) + " " + withNamespace(o.Namespace, o.Name)
}

// Print writes it.
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
	if w.Recorded {
		add("wave", fmt.Sprintf("%d; deleted in wave %d", w.Wave, w.DeleteWave))
	}
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
		add("values", "none has a part in it")
	}
	w.Field.add(add, len(w.Through) > 0)
	for _, unknown := range w.Unknown {
		add("unknown", unknown)
	}
	_, err := io.WriteString(o, lines(columns(o.Palette, rows)))
	return err
}

// isConstant says that no value has a part in what is rendered.
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

// valueText returns a text as it is, and all else as JSON.
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

// add adds the rows of a field. made says that a controller made the object, so that no manifest has it.
func (f *WhyField) add(add func(title, text string), made bool) {
	if f == nil {
		return
	}
	add("field", f.Path+" = "+valueText(f.Value))
	switch {
	case made:
		add("manifest", "there is none: a controller made this object")
	case f.Unknown:
		add("manifest", "it is not known whether it sets this")
	case f.Differs:
		add("manifest", "it sets another value")
	case f.Rendered:
		add("manifest", "it sets this value")
	default:
		add("manifest", "it does not set it")
	}
	if len(f.Managers) == 0 {
		add("managed by", "nobody: the API server filled it in, as a default")
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
