package show_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

var _ = Describe("Status", func() {
	It("has the published exports, and the names without a value", func() {
		status := metav1alpha1.Status{Exports: map[string]runtime.RawExtension{
			"port": {Raw: []byte(`5432`)}, "host": {Raw: []byte(`"10.0.0.1\u001b[31m"`)},
			"long": {Raw: []byte(`"` + strings.Repeat("x", 200) + `"`)},
		}}
		obj := &unstructured.Unstructured{Object: map[string]any{
			"kind":     "Component",
			"metadata": map[string]any{"name": "db"},
		}}
		shown := show.NewStatus(obj, status, show.Settings{Exports: []string{"host", "later"}})
		Expect(shown.Exports).To(HaveLen(4))
		text := strings.Join(shown.Lines(show.Output{}, time.Now()), "\n")
		Expect(text).To(ContainSubstring("\nEXPORT  VALUE\nhost    10.0.0.1�[31m\nlater   no value yet\nlong    " +
			strings.Repeat("x", 100) + "…\nport    5432"))
	})
})
