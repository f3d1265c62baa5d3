package templating

import (
	"maps"
	"text/template"
	"time"
)

// clock are the template functions that use the current time or the local time zone.
type clock struct{ in *Input }

// functions returns the functions that use the current time or the local time zone. The current time is the time
// in the request, and the time zone is UTC, because a rendering must depend only on its inputs.
func (c clock) functions() template.FuncMap {
	inZone := func(f func(string, any, string) string) any {
		return func(format string, date any, zone string) string { return f(format, c.timeOf(date), zone) }
	}
	functions := around(inZone, "dateInZone", "date_in_zone")
	maps.Copy(functions, around(func(f func(any, string) string) any {
		return func(date any, zone string) string { return f(c.timeOf(date), zone) }
	}, "htmlDateInZone"))
	maps.Copy(functions, around(func(f func(any) string) any {
		return func(value any) string {
			if date, ok := value.(time.Time); ok {
				return f(c.now().Sub(date).String())
			}
			return f(value)
		}
	}, "durationRound"))
	maps.Copy(functions, template.FuncMap{
		"now":      c.now,
		"date":     func(format string, date any) string { return c.timeOf(date).Format(format) },
		"htmlDate": func(date any) string { return c.timeOf(date).Format(time.DateOnly) },
		"ago":      func(date any) string { return c.now().Sub(c.timeOf(date)).Round(time.Second).String() },
		"mustToDate": func(format, text string) (time.Time, error) {
			return time.ParseInLocation(format, text, time.UTC)
		},
		"toDate": func(format, text string) time.Time {
			date, err := time.ParseInLocation(format, text, time.UTC)
			if err != nil {
				return time.Time{}
			}
			return date
		},
	})
	return functions
}

func (c clock) now() time.Time {
	c.in.Budget.varies = true
	if c.in.Request.Now.IsZero() {
		c.in.Request.Now = time.Now()
	}
	return c.in.Request.Now.UTC()
}

// timeOf converts a date of a template to a time. The date is a time or a number of seconds since 1970; any other value
// gives the current time.
func (c clock) timeOf(date any) time.Time {
	switch date := date.(type) {
	case time.Time:
		return date.UTC()
	case *time.Time:
		return date.UTC()
	case int:
		return time.Unix(int64(date), 0).UTC()
	case int32:
		return time.Unix(int64(date), 0).UTC()
	case int64:
		return time.Unix(date, 0).UTC()
	default:
		return c.now()
	}
}
