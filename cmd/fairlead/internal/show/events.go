package show

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// Events is a list of Events.
type Events struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Items are sorted by the time of the last occurrence.
	Items []Event `json:"items"`
}

// Event is a Kubernetes Event, with the number of its occurrences.
type Event struct {
	Time   metav1.Time `json:"time"`
	Since  metav1.Time `json:"since"`
	Count  int32       `json:"count"`
	Type   string      `json:"type"`
	Reason string      `json:"reason"`
	// Object is the object that the Event is about.
	Object   EventObject `json:"object"`
	Message  string      `json:"message"`
	Reporter string      `json:"reporter,omitempty"`
}

// EventObject identifies the object of an Event.
type EventObject struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// NewEvent returns the fields of an Event that commands print. The API server serves Events of both API groups, core
// and events.k8s.io, as corev1.Event.
func NewEvent(e *corev1.Event) Event {
	shown := Event{
		Type: e.Type, Reason: e.Reason, Message: e.Message, Reporter: e.ReportingController, Count: max(e.Count, 1),
		Object: EventObject{
			Group: schema.FromAPIVersionAndKind(e.InvolvedObject.APIVersion, e.InvolvedObject.Kind).Group,
			Kind:  e.InvolvedObject.Kind, Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name,
		},
		Since: firstOf(e.FirstTimestamp, metav1.Time(e.EventTime), e.CreationTimestamp),
	}
	if shown.Reporter == "" {
		shown.Reporter = e.Source.Component
	}
	shown.Time = firstOf(e.LastTimestamp, metav1.Time(e.EventTime), e.CreationTimestamp)
	if e.Series != nil {
		shown.Count, shown.Time = e.Series.Count, metav1.Time(e.Series.LastObservedTime)
	}
	return shown
}

func firstOf(times ...metav1.Time) metav1.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return metav1.Time{}
}

// NewEvents returns the Events, sorted by the time of the last occurrence.
func NewEvents(items []Event) Events {
	items = append([]Event{}, items...)
	slices.SortStableFunc(items, func(a, b Event) int {
		if order := a.Time.Compare(b.Time.Time); order != 0 {
			return order
		}
		return strings.Compare(a.Object.Name+a.Reason+a.Message, b.Object.Name+b.Reason+b.Message)
	})
	return Events{APIVersion: SchemaVersion, Kind: "Events", Items: items}
}

// Print writes the Events. Ages are relative to now.
func (l Events) Print(o Output, now time.Time) error {
	if o.Structured() {
		return o.write(l)
	}
	rows := [][]cell{titled(eventTitles(o.Format)...)}
	for _, e := range l.Items {
		rows = append(rows, e.cells(o.Format, now))
	}
	_, err := io.WriteString(o, lines(columns(o.Palette, rows)))
	return err
}

// Print writes one Event as a row that continues a table of Events.
func (e Event) Print(o Output, now time.Time) error {
	switch o.Format {
	case FormatJSON:
		return o.write(e)
	case FormatYAML:
		if _, err := io.WriteString(o, "---\n"); err != nil {
			return err
		}
		return o.write(e)
	case FormatTable, FormatWide, FormatName:
	}
	cells := e.cells(o.Format, now)
	// These widths fit most Events. They are fixed, because later Events are not known yet.
	usual := []int{8, 7, 20, 40}
	var line strings.Builder
	for i, c := range cells {
		line.WriteString(o.Palette.In(c.tone, c.text))
		if i < len(usual) {
			line.WriteString(strings.Repeat(" ", max(usual[i]-terminal.Width(c.text), 0)))
		}
		line.WriteString("  ")
	}
	_, err := io.WriteString(o, strings.TrimRight(line.String(), " ")+"\n")
	return err
}

func eventTitles(format Format) []string {
	titles := []string{"SEEN", "TYPE", "REASON", "OBJECT"}
	if format == FormatWide {
		titles = append(titles, "COUNT", "SINCE", "REPORTER")
	}
	return append(titles, "MESSAGE")
}

func (e Event) cells(format Format, now time.Time) []cell {
	kind := cell{text: oneLine(e.Type)}
	if e.Type == corev1.EventTypeWarning {
		kind.tone = terminal.Bad
	}
	object := withGroup(e.Object.Kind, e.Object.Group) + " " + withNamespace(e.Object.Namespace, e.Object.Name)
	cells := append([]cell{{text: duration.HumanDuration(now.Sub(e.Time.Time))}, kind}, row(e.Reason, object)...)
	if format == FormatWide {
		cells = append(cells, row(fmt.Sprint(e.Count), duration.HumanDuration(now.Sub(e.Since.Time)), orDash(e.Reporter))...)
	}
	return append(cells, row(e.Message)...)
}
