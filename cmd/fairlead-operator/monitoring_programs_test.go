//go:build programs

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// promqlProgram is a program that parses queries. "make test-all" builds it.
const promqlProgram = "../../bin/promql"

// ofTarget are the labels that Prometheus adds to scraped series.
var ofTarget = []string{"job", "instance", "pod", "container", "endpoint"}

// closed are labels for whose values the operator exports series from its start.
var closed = []string{"state", "step", "readiness"}

// queries returns the expressions of the dashboard and the alerts, by their places.
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

// labelValues matches the expression for the values of a dashboard's variable.
var labelValues = regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)

func readConfig(name string, into any) error {
	content, err := os.ReadFile("../../config/monitoring/" + name)
	if err != nil {
		return err
	}
	content, err = yaml.YAMLToJSON(content)
	return errors.Join(err, json.Unmarshal(content, into))
}

// exposed contains the metrics that a process exports, by their names in queries.
type exposed struct {
	labels map[string][]string
	// values are the values of the labels in closed.
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

// usage contains the metrics and labels in a query, as bin/promql prints them.
type usage struct {
	Error     string
	Selectors []struct {
		Metric   string
		Matchers []matcher
	}
	Grouping []string
}

// matcher is a condition on the value of a label.
type matcher struct{ Label, Operator, Value string }

func (m matcher) String() string { return fmt.Sprintf("%s%s%q", m.Label, m.Operator, m.Value) }

// matches reports whether the matcher selects a value. Regular expressions of Prometheus have the syntax of Go, and
// match the whole value.
func (m matcher) matches(value string) (bool, error) {
	switch m.Operator {
	case "=":
		return value == m.Value, nil
	case "!=":
		return value != m.Value, nil
	}
	pattern, err := regexp.Compile("^(?s:" + m.Value + ")$")
	if err != nil {
		return false, err
	}
	return pattern.MatchString(value) == (m.Operator == "=~"), nil
}

// usages returns the metrics and labels in each query. The keys are those of queries.
func usages(ctx context.Context, queries map[string]string) (map[string]usage, error) {
	keys := slices.Sorted(maps.Keys(queries))
	variables := strings.NewReplacer("$__rate_interval", "5m", "$reconciler", "fairlead.io", "$job", "fairlead")
	var texts []string
	for _, key := range keys {
		texts = append(texts, variables.Replace(queries[key]))
	}
	input, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, promqlProgram)
	command.Stdin = bytes.NewReader(input)
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%w; if the program does not exist, run make bin/promql", err)
	}
	var list []usage
	if err := json.Unmarshal(output, &list); err != nil {
		return nil, err
	}
	if len(list) != len(keys) {
		return nil, fmt.Errorf("%d queries have %d answers", len(keys), len(list))
	}
	found := map[string]usage{}
	for i, key := range keys {
		found[key] = list[i]
	}
	return found, nil
}

// complaints returns an error for each metric and label in a query that the process does not export.
func (e exposed) complaints(query usage) (found []string) {
	if query.Error != "" {
		return []string{query.Error}
	}
	known := []string{}
	for _, s := range query.Selectors {
		known = append(known, e.labels[s.Metric]...)
		if len(e.labels[s.Metric]) == 0 {
			found = append(found, "no metric "+s.Metric)
			continue
		}
		found = append(found, e.unmatched(s.Metric, s.Matchers)...)
	}
	for _, label := range query.Grouping {
		if !slices.Contains(known, label) {
			found = append(found, "no label "+label+" to group by")
		}
	}
	return found
}

// unmatched returns an error for each matcher that selects no series of a metric.
func (e exposed) unmatched(name string, matchers []matcher) (found []string) {
	for _, m := range matchers {
		switch {
		case !slices.Contains(e.labels[name], m.Label):
			found = append(found, fmt.Sprintf("metric %s has no label %s", name, m.Label))
		case slices.Contains(closed, m.Label) && !slices.ContainsFunc(e.values[m.Label], func(value string) bool {
			ok, err := m.matches(value)
			return err == nil && ok
		}):
			found = append(found, fmt.Sprintf("no series is selected by %s", m))
		}
	}
	return found
}

var _ = Describe("The dashboard and the alerts", func() {
	It("use only metrics and labels that the operator exports", func(ctx SpecContext) {
		all, err := queries()
		Expect(err).NotTo(HaveOccurred())
		Expect(len(all)).To(BeNumerically(">", 25))
		used, err := usages(ctx, all)
		Expect(err).NotTo(HaveOccurred())
		address := freeAddress()
		restartOperator(ctx, "--metrics-bind-address="+address, "--metrics-secure=false")
		namespace := newNamespace(ctx)
		component := createComponent(ctx, namespace, "shop",
			v1alpha1.ComponentSpec{Source: inline("settings.yaml", monitored)})
		Eventually(status(ctx, component)).WithTimeout(soon).Should(HavePrefix("Ready Ready: "))
		// The metrics of externals exist as soon as a call was made, and this one fails.
		createComponent(ctx, namespace, "outside", v1alpha1.ComponentSpec{
			Externals: []v1alpha1.External{{Kind: "Schema", Service: v1alpha1.ExternalService{URL: "http://127.0.0.1:1/"}}},
			Source: inline("schema.yaml",
				"apiVersion: external.fairlead.io/v1\nkind: Schema\nmetadata: {name: orders}\nspec: {}\n"),
		})
		// So do those of event sources.
		createComponent(ctx, namespace, "polls", v1alpha1.ComponentSpec{
			Inputs: []v1alpha1.Input{{Name: "rates", Poll: &v1alpha1.PollInput{URL: "http://127.0.0.1:1/"}}},
			Source: inline("settings.yaml", monitored),
		})
		Expect(administrator.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      "settings",
		}})).To(Succeed())

		Eventually(func() ([]string, error) {
			e, err := scrape("http://" + address + "/metrics")
			var found []string
			for _, where := range slices.Sorted(maps.Keys(used)) {
				for _, complaint := range e.complaints(used[where]) {
					found = append(found, where+": "+complaint)
				}
			}
			return found, err
		}).WithTimeout(soon).Should(BeEmpty())
	}, SpecTimeout(3*time.Minute))

	It("are rejected by this test if they use other metrics or labels", func(ctx SpecContext) {
		e := exposed{
			labels: map[string][]string{"fairlead_components": {"reconciler", "state"}},
			values: map[string][]string{"state": {"Ready"}},
		}
		wanted := map[string]string{
			"fairlead_components": "",
			`sum by (state) (fairlead_components{state="Ready"})`: "",
			`fairlead_components{state=~"Rea.*|x"}`:               "",
			`fairlead_components{state!="Ready"}`:                 `no series is selected by state!="Ready"`,
			`fairlead_components{state!~".*dy"}`:                  `no series is selected by state!~".*dy"`,
			`fairlead_components{state=~"Read"}`:                  `no series is selected by state=~"Read"`,
			"fairlead_component":                                  "no metric fairlead_component",
			`fairlead_components{name="a"}`:                       "metric fairlead_components has no label name",
			`fairlead_components{state="Rady"}`:                   `no series is selected by state="Rady"`,
			"sum by (name) (fairlead_components)":                 "no label name to group by",
			"sum by (state) (fairlead_components[":                "parse error",
		}
		queries := map[string]string{}
		for query := range wanted {
			queries[query] = query
		}
		used, err := usages(ctx, queries)
		Expect(err).NotTo(HaveOccurred())
		for query, want := range wanted {
			complaints := e.complaints(used[query])
			Expect(strings.Join(complaints, "; ")).To(ContainSubstring(want), query)
			Expect(complaints == nil).To(Equal(want == ""), query)
		}
	}, SpecTimeout(time.Minute))
})
