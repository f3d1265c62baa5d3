package config_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// rule is what of a PrometheusRule counts here.
type rule struct {
	Spec struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
}

func TestEachAlertSaysWhatToDo(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile("monitoring/prometheusrule.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var alerts rule
	g.Expect(yaml.Unmarshal(content, &alerts)).To(Succeed())
	page, err := os.ReadFile("../docs/monitoring.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, runbook, found := strings.Cut(string(page), "\n## Alerts\n")
	g.Expect(found).To(BeTrue())
	var described []string
	for line := range strings.Lines(runbook) {
		if name, ok := strings.CutPrefix(line, "### "); ok {
			described = append(described, strings.TrimSpace(name))
		}
	}
	var names []string
	for _, group := range alerts.Spec.Groups {
		for _, alert := range group.Rules {
			names = append(names, alert.Alert)
			g.Expect(alert.Labels["severity"]).To(BeElementOf("critical", "warning", "info"), alert.Alert)
			g.Expect(alert.For).NotTo(BeEmpty(), alert.Alert)
			g.Expect(alert.Annotations).To(And(HaveKey("summary"), HaveKey("description")), alert.Alert)
			g.Expect(alert.Annotations["runbook_url"]).
				To(HaveSuffix("/docs/monitoring.md#"+strings.ToLower(alert.Alert)), alert.Alert)
		}
	}
	slices.Sort(names)
	slices.Sort(described)
	g.Expect(described).To(Equal(names))
}
