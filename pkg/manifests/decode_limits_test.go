package manifests_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// laughs returns YAML with ten levels of aliases. Each level contains the previous level ten times.
func laughs() string {
	text := "l0: &l0 lol\n"
	for i := 1; i < 10; i++ {
		text += fmt.Sprintf(
			"l%d: &l%d [%s]\n",
			i,
			i,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d,", i-1), 10), ","),
		)
	}
	return text
}

func TestDecoderHasBounds(t *testing.T) {
	t.Run("the limit of objects covers all files", func(t *testing.T) {
		decoder := &manifests.Decoder{MaxObjects: 2}
		const two = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: A, metadata: {name: a}}, {apiVersion: v1, " +
			"kind: A, metadata: {name: b}}]}"
		if objects, err := decoder.Decode("a.yaml", []byte(two)); err != nil || len(objects) != 2 {
			t.Fatalf("got %v, %v", objects, err)
		}
		_, err := decoder.Decode("b.yaml", []byte("---\n---\n{apiVersion: v1, kind: A, metadata: {name: c}}"))
		if err == nil || err.Error() != "b.yaml:2: the limit of 2 objects is exceeded here" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the limit of nodes covers expanded aliases", func(t *testing.T) {
		_, err := manifests.Decode("a.yaml", []byte("---\n# a\n---\n"+laughs()))
		if err == nil ||
			!strings.Contains(err.Error(), "a.yaml:10: more than 200000 maps, lists, values and keys") {
			t.Errorf("got %v", err)
		}
	})
}
