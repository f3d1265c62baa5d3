package templating

import (
	"maps"
	"text/template"
	"time"
)

// clockFunctions returns the functions that use the current time or the local time zone. The current time is the time
// in the request, and the time zone is UTC, because a rendering must depend only on its inputs.
func (s *session) clockFunctions() template.FuncMap {
	inZone := func(f func(string, any, string) string) any {
		return func(format string, date any, zone string) string { return f(format, s.timeOf(date), zone) }
	}
	functions := around(inZone, "dateInZone", "date_in_zone")
	maps.Copy(functions, around(func(f func(any, string) string) any {
		return func(date any, zone string) string { return f(s.timeOf(date), zone) }
	}, "htmlDateInZone"))
	maps.Copy(functions, around(func(f func(any) string) any {
		return func(value any) string {
			if date, ok := value.(time.Time); ok {
				return f(s.now().Sub(date).String())
			}
			return f(value)
		}
	}, "durationRound"))
	maps.Copy(functions, template.FuncMap{
		"now":      s.now,
		"date":     func(format string, date any) string { return s.timeOf(date).Format(format) },
		"htmlDate": func(date any) string { return s.timeOf(date).Format(time.DateOnly) },
		"ago":      func(date any) string { return s.now().Sub(s.timeOf(date)).Round(time.Second).String() },
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

func (s *session) now() time.Time {
	s.Budget.varies = true
	if s.Request.Now.IsZero() {
		s.Request.Now = time.Now()
	}
	return s.Request.Now.UTC()
}

// timeOf converts a date of a template to a time. The date is a time or a number of seconds since 1970; any other value
// gives the current time.
func (s *session) timeOf(date any) time.Time {
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
		return s.now()
	}
}
