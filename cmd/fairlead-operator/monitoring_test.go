package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// monitored is a dependent that needs no values.
const monitored = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: one}}"

// ofTarget are labels that a scrape adds.
var ofTarget = []string{"job", "instance", "pod", "container", "endpoint"}

// closed are labels of which all values have series from the beginning.
var closed = []string{"state", "step", "readiness"}

// queries returns the expressions of the dashboard and the alerts, by where they are.
func queries() (map[string]string, error) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	var rule struct {
		Spec struct {
			Groups []struct {
				Rules []struct{ Alert, Expr string }
			}
		}
	}
	if err := errors.Join(readConfig("dashboard.json", &dashboard), readConfig("prometheusrule.yaml", &rule)); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, panel := range dashboard.Panels {
		for i, target := range panel.Targets {
			found[fmt.Sprintf("panel %s, query %d", panel.Title, i+1)] = target.Expr
		}
	}
	for _, variable := range dashboard.Templating.List {
		if parts := labelValues.FindStringSubmatch(variable.Definition); parts != nil {
			found["variable "+variable.Name] = fmt.Sprintf("sum by (%s) (%s)", parts[2], parts[1])
		}
	}
	for _, group := range rule.Spec.Groups {
		for _, rule := range group.Rules {
			found["alert "+rule.Alert] = rule.Expr
		}
	}
	return found, nil
}

// labelValues is how a variable of a dashboard gets its values.
var labelValues = regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)

func readConfig(name string, into any) error {
	content, err := os.ReadFile("../../config/monitoring/" + name)
	if err != nil {
		return err
	}
	content, err = yaml.YAMLToJSON(content)
	return errors.Join(err, json.Unmarshal(content, into))
}

// exposed are the metrics of a process, by their names in queries.
type exposed struct {
	labels map[string][]string
	// values are those of the labels in closed.
	values map[string][]string
}

func scrape(url string) (exposed, error) {
	response, err := http.Get(url)
	if err != nil {
		return exposed{}, err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return exposed{}, err
	}
	text := expfmt.NewTextParser(model.UTF8Validation)
	families, err := text.TextToMetricFamilies(strings.NewReader(string(body)))
	e := exposed{labels: map[string][]string{}, values: map[string][]string{}}
	for name, family := range families {
		names := []string{name}
		if family.GetType() == dto.MetricType_HISTOGRAM {
			names = []string{name + "_bucket", name + "_sum", name + "_count"}
		}
		for _, name := range names {
			e.labels[name] = e.labelsOf(family)
		}
		if len(names) > 1 {
			e.labels[names[0]] = append(e.labels[names[0]], "le")
		}
	}
	return e, err
}

func (e exposed) labelsOf(family *dto.MetricFamily) []string {
	names := slices.Clone(ofTarget)
	for _, metric := range family.GetMetric() {
		for _, label := range metric.GetLabel() {
			names = append(names, label.GetName())
			if slices.Contains(closed, label.GetName()) {
				e.values[label.GetName()] = append(e.values[label.GetName()], label.GetValue())
			}
		}
	}
	return names
}

// complaints are what a query uses, and the process does not have.
func (e exposed) complaints(query string) (found []string) {
	query = strings.NewReplacer("$__rate_interval", "5m", "$reconciler", "fairlead.io", "$job", "fairlead").Replace(query)
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		return []string{err.Error()}
	}
	known := []string{}
	for _, selectors := range parser.ExtractSelectors(expression) {
		name := ""
		for _, m := range selectors {
			if m.Name == model.MetricNameLabel {
				name = m.Value
			}
		}
		known = append(known, e.labels[name]...)
		if len(e.labels[name]) == 0 {
			found = append(found, "no metric "+name)
			continue
		}
		found = append(found, e.matchers(name, selectors)...)
	}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if aggregate, ok := node.(*parser.AggregateExpr); ok {
			for _, label := range aggregate.Grouping {
				if !slices.Contains(known, label) {
					found = append(found, "no label "+label+" to group by")
				}
			}
		}
		return nil
	})
	return found
}

// matchers are the complaints about what selects the series of a metric.
func (e exposed) matchers(name string, selectors []*labels.Matcher) (found []string) {
	for _, m := range selectors {
		switch {
		case m.Name == model.MetricNameLabel:
		case !slices.Contains(e.labels[name], m.Name):
			found = append(found, fmt.Sprintf("metric %s has no label %s", name, m.Name))
		case slices.Contains(closed, m.Name) && !slices.ContainsFunc(e.values[m.Name], m.Matches):
			found = append(found, fmt.Sprintf("no series is selected by %s", m))
		}
	}
	return found
}

var _ = Describe("The dashboard and the alerts", func() {
	It("use metrics and labels that the operator has", func(ctx SpecContext) {
		all, err := queries()
		Expect(err).NotTo(HaveOccurred())
		Expect(len(all)).To(BeNumerically(">", 25))
		address := freeAddress()
		restartOperator(ctx, "--metrics-bind-address="+address, "--metrics-secure=false")
		namespace := newNamespace(ctx)
		component := createComponent(ctx, namespace, "shop", v1alpha1.ComponentSpec{Source: inline("settings.yaml", monitored)})
		Eventually(status(ctx, component)).WithTimeout(30 * time.Second).Should(HavePrefix("Ready Ready: "))
		Expect(administrator.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}})).To(Succeed())

		Eventually(func() ([]string, error) {
			e, err := scrape("http://" + address + "/metrics")
			var found []string
			for _, where := range slices.Sorted(maps.Keys(all)) {
				for _, complaint := range e.complaints(all[where]) {
					found = append(found, where+": "+complaint)
				}
			}
			return found, err
		}).WithTimeout(30 * time.Second).Should(BeEmpty())
	}, SpecTimeout(3*time.Minute))

	It("would be noticed if they used others", func(SpecContext) {
		e := exposed{
			labels: map[string][]string{"fairlead_components": {"reconciler", "state"}},
			values: map[string][]string{"state": {"Ready"}},
		}
		for query, want := range map[string]string{
			"fairlead_components": "",
			`sum by (state) (fairlead_components{state="Ready"})`: "",
			"fairlead_component":                   "no metric fairlead_component",
			`fairlead_components{name="a"}`:        "metric fairlead_components has no label name",
			`fairlead_components{state="Rady"}`:    `no series is selected by state="Rady"`,
			"sum by (name) (fairlead_components)":  "no label name to group by",
			"sum by (state) (fairlead_components[": "parse error",
		} {
			Expect(strings.Join(e.complaints(query), "; ")).To(ContainSubstring(want), query)
			Expect(e.complaints(query) == nil).To(Equal(want == ""), query)
		}
	}, SpecTimeout(time.Minute))
})
