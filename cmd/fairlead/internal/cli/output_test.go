package cli

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

func TestCompletionsOfTheFlagOutputAreTheFormatsOfItsHelp(t *testing.T) {
	root := newRoot(command.New(genericiooptions.IOStreams{}), "fairlead")
	checked := 0
	for _, command := range root.Commands() {
		flag := command.Flags().Lookup("output")
		if flag == nil || command.Name() == "export" {
			continue
		}
		checked++
		complete, ok := command.GetFlagCompletionFunc("output")
		if !ok {
			t.Errorf("the command %s has no completion for the flag -o", command.Name())
			continue
		}
		offered, _ := complete(command, nil, "")
		names, isTable := strings.CutSuffix(flag.Usage, "; a table by default")
		if all := strings.Join(offered, " "); !isTable || all != strings.NewReplacer(",", "", " or", "").Replace(names) {
			t.Errorf("%s: the completions of -o are %s, but the help of the flag has %s", command.Name(), all, flag.Usage)
		}
	}
	if checked == 0 {
		t.Error("no command has the flag -o")
	}
}

// fieldsOf adds the names of the fields of a type, and of the types of its fields except for those in skipped.
func fieldsOf(kind reflect.Type, names map[string]bool, skipped ...reflect.Type) {
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	if kind.Kind() != reflect.Struct || kind == reflect.TypeFor[metav1.Time]() || slices.Contains(skipped, kind) {
		return
	}
	for field := range kind.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names[name] = true
			fieldsOf(field.Type, names, skipped...)
		}
	}
}

// keysOf adds the keys of a value that was read from YAML.
func keysOf(value any, names map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			names[key] = true
			keysOf(inner, names)
		}
	case []any:
		for _, inner := range value {
			keysOf(inner, names)
		}
	}
}

func TestTheTopicOutputHasTheFieldsOfTheSchema(t *testing.T) {
	component, operator, leftOut := reflect.TypeFor[show.Component](), reflect.TypeFor[show.Operator](),
		reflect.TypeFor[show.LeftOut]()
	want := map[string]map[string]bool{"Tree": {}, "Status": {}, "History": {}, "Events": {}}
	fieldsOf(reflect.TypeFor[show.Tree](), want["Tree"])
	fieldsOf(reflect.TypeFor[show.Status](), want["Status"], component, operator, leftOut)
	fieldsOf(reflect.TypeFor[show.History](), want["History"], component)
	fieldsOf(reflect.TypeFor[show.Events](), want["Events"])
	got := map[string]map[string]bool{}
	for paragraph := range strings.SplitSeq(outputTopic, "\n\n") {
		if !strings.HasPrefix(paragraph, "    apiVersion: "+show.SchemaVersion+"\n") {
			continue
		}
		var document map[string]any
		if err := yaml.UnmarshalStrict([]byte(paragraph), &document); err != nil {
			t.Fatalf("%v\n%s", err, paragraph)
		}
		kind, _ := document["kind"].(string)
		got[kind] = map[string]bool{}
		keysOf(document, got[kind])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the fields in the topic output (+) differ from those of the types (-):\n%s", diff)
	}
}
