package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// chart is a chart that is installed with Helm and with Fairlead, and its settings.
type chart struct {
	folder, name, version string
	settings
}

// settings are the values and names that a chart needs before it can be installed.
type settings struct {
	// Release is the name of the release, by default the name of the chart. Namespace is "wild" by default.
	Release   string `json:"release,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Values are the values of the installation.
	Values map[string]any `json:"values,omitempty"`
	// Change is merged with Values for the upgrade. By default it is the first usual value that changes the rendering.
	Change map[string]any `json:"change,omitempty"`
	// Before are folders of charts, relative to the folder of this chart, that Helm installs in both clusters first.
	Before []string `json:"before,omitempty"`
}

// String returns the name and the version of the chart.
func (c chart) String() string { return c.name + " " + c.version }

// readChart reads the name of a chart, and the settings of the chart from the file NAME.yaml in settingsFolder. The
// file need not exist.
func readChart(folder, settingsFolder string) (chart, error) {
	text, err := os.ReadFile(filepath.Join(folder, "Chart.yaml"))
	if err != nil {
		return chart{}, fmt.Errorf("%s is no folder of a chart: %w", folder, err)
	}
	var metadata struct{ Name, Version string }
	if err := yaml.Unmarshal(text, &metadata); err != nil {
		return chart{}, fmt.Errorf("%s: Chart.yaml: %w", folder, err)
	}
	if metadata.Name == "" || strings.ContainsRune(metadata.Name, filepath.Separator) {
		return chart{}, fmt.Errorf("%s: Chart.yaml: %q is no name of a chart", folder, metadata.Name)
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return chart{}, err
	}
	c := chart{folder: absolute, name: metadata.Name, version: metadata.Version}
	text, err = os.ReadFile(filepath.Join(settingsFolder, c.name+".yaml"))
	if err != nil && !os.IsNotExist(err) {
		return chart{}, err
	}
	if err := yaml.UnmarshalStrict(text, &c.settings); err != nil {
		return chart{}, fmt.Errorf("settings of %s: %w", c.name, err)
	}
	if c.Release == "" {
		c.Release = c.name
	}
	if c.Namespace == "" {
		c.Namespace = "wild"
	}
	return c, nil
}
