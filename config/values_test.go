package config_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"go.yaml.in/yaml/v3"
)

// schema is what of values.schema.json counts here.
type schema struct {
	Type                 string
	Properties           map[string]schema
	AdditionalProperties any
}

// paths returns the paths of all values that the schema describes and that have no described values below them. It
// fails the test if the schema of an object permits properties that the schema does not describe.
func (s schema) paths(g *WithT, at string) (found []string) {
	for name, property := range s.Properties {
		path := strings.TrimPrefix(at+"."+name, ".")
		if len(property.Properties) == 0 {
			found = append(found, path)
			continue
		}
		g.Expect(property.AdditionalProperties).To(BeFalse(), path)
		found = append(found, property.paths(g, path)...)
	}
	return found
}

// described returns the paths of all values that have a comment which describes them; those above are headings.
func described(g *WithT, node *yaml.Node, at string) (found []string) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		path := strings.TrimPrefix(at+"."+key.Value, ".")
		if strings.HasPrefix(key.HeadComment, "# -- ") {
			found = append(found, path)
			continue
		}
		g.Expect(value.Kind).To(Equal(yaml.MappingNode), "%s is not described", path)
		found = append(found, described(g, value, path)...)
	}
	return found
}

func TestEachValueOfTheChartIsDescribedAndHasASchema(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile("chart/values.schema.json")
	g.Expect(err).NotTo(HaveOccurred())
	var top schema
	g.Expect(json.Unmarshal(content, &top)).To(Succeed())
	g.Expect(top.AdditionalProperties).To(BeFalse())
	// Helm hands it to each chart that is part of another.
	delete(top.Properties, "global")

	content, err = os.ReadFile("chart/values.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var values yaml.Node
	g.Expect(yaml.Unmarshal(content, &values)).To(Succeed())
	inValues, inSchema := described(g, values.Content[0], ""), top.paths(g, "")
	slices.Sort(inValues)
	slices.Sort(inSchema)
	g.Expect(len(inValues)).To(BeNumerically(">", 50))
	g.Expect(inSchema).To(Equal(inValues))
}
