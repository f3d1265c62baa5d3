package marks_test

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/marks"
)

// A live object tells which of its fields are ignored, and by which rule.
func ExampleLiveIgnored() {
	for _, ignored := range marks.LiveIgnored(map[string]string{
		"shop.example.com/ignore":          "spec.replicas",
		"shop.example.com/ignored-by-spec": "spec.template.spec.containers[name=web].image",
	}, "shop.example.com") {
		fmt.Println(ignored.Source, ignored.Path)
	}
	// Output:
	// annotation spec.replicas
	// spec spec.template.spec.containers[name="web"].image
}

// A watch needs the paths alone.
func ExampleIgnoredOf() {
	fmt.Println(marks.IgnoredOf(map[string]string{"shop.example.com/ignore": "spec.replicas"}, "shop.example.com"))
	// Output: [spec.replicas]
}
