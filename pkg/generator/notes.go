package generator

import "context"

// Noted reports a text for the user, such as the NOTES.txt of a Helm chart, to req.Notes. It does nothing if Notes is
// nil.
func (r Request) Noted(notes string) {
	if r.Notes != nil {
		r.Notes(notes)
	}
}

// NotesOf renders a request, and returns the notes that the generator reports. They are empty if it reports none.
func NotesOf(ctx context.Context, g Generator, req Request) (string, error) {
	notes := ""
	req.Notes = func(text string) { notes = text }
	if _, err := g.Generate(ctx, req); err != nil {
		return "", err
	}
	return notes, nil
}
