package external

import (
	"errors"
	"time"
)

// infoDocument is an Info. Without a time or a limit the default holds.
type infoDocument struct {
	Kind          string  `json:"kind"`
	Creates       bool    `json:"creates"`
	Updates       bool    `json:"updates"`
	Deletes       bool    `json:"deletes"`
	Finds         bool    `json:"finds"`
	Lists         bool    `json:"lists"`
	Timeout       string  `json:"timeout,omitempty"`
	Poll          string  `json:"poll,omitempty"`
	Settle        string  `json:"settle,omitempty"`
	IdempotentFor string  `json:"idempotentFor,omitempty"`
	Concurrency   int     `json:"concurrency,omitempty"`
	Rate          float64 `json:"rate,omitempty"`
	Burst         int     `json:"burst,omitempty"`
}

// document returns the description of a kind for the clients of a service. An Identifier is a Finder there.
func (i Info) document() *infoDocument {
	return &infoDocument{
		Kind: i.Kind, Creates: i.Creates, Updates: i.Updates, Deletes: i.Deletes, Finds: i.Finds || i.Identifies,
		Lists: i.Lists, Timeout: i.Timeout.String(), Poll: i.Poll.String(), Settle: i.Settle.String(),
		IdempotentFor: i.IdempotentFor.String(), Concurrency: i.Concurrency, Rate: i.Rate, Burst: i.Burst,
	}
}

// info returns the description that a service answers with. All errors are joined.
func (d *infoDocument) info() (Info, error) {
	info := Info{
		Kind: d.Kind, Creates: d.Creates, Updates: d.Updates, Deletes: d.Deletes, Finds: d.Finds, Lists: d.Lists,
		Concurrency: d.Concurrency, Rate: d.Rate, Burst: d.Burst,
	}
	var errs []error
	for _, t := range []struct {
		field, text string
		value       *time.Duration
	}{
		{"info.timeout", d.Timeout, &info.Timeout},
		{"info.poll", d.Poll, &info.Poll},
		{"info.settle", d.Settle, &info.Settle},
		{"info.idempotentFor", d.IdempotentFor, &info.IdempotentFor},
	} {
		var err error
		if *t.value, err = parseDuration(t.field, t.text); err != nil {
			errs = append(errs, err)
		}
	}
	if d.Settle != "" && info.Settle == 0 {
		info.Settle = -1 // Zero is the default.
	}
	return info.withDefaults(), errors.Join(errs...)
}
