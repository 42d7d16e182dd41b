package api

import (
	"context"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/search/suggest"
)

const (
	maxSuggestText = 2000            // characters of a text to complete
	suggestTimeout = 2 * time.Second // for an answer
)

// Suggestions is the answer of GET /suggest: texts that can replace a part of the given text.
type Suggestions struct {
	From        int          `json:"from"` // where that part begins, in characters from 0
	To          int          `json:"to"`   // where that part ends
	Suggestions []Suggestion `json:"suggestions"`
}

// A Suggestion is a text that can replace that part.
type Suggestion struct {
	Text string `json:"text"`           // a value, a whole term, or a key with its colon
	Kind string `json:"kind"`           // "key", "value" or "entity"
	Note string `json:"note,omitempty"` // for a key: a term with it; for an entity: its kind
}

func suggestRoutes() []route {
	return []route{{
		method: "GET", path: "/suggest", id: "suggest", group: groupMessages, summary: "Suggest completions of a search or a filter of entities",
		exampleQuery: "of=messages&q=state:d&at=7",
		description: "Suggestions are keys and values of the grammar, names of entities, and reasons, properties and paths in JSON bodies from a sample of the messages. " +
			"The sample is at most a few seconds old. Terms that are not suggested are valid too.",
		query: []parameter{
			requiredParameter(enumParameter("of", "The grammar: messages, as at /search, or entities, as in the filter at /entities.", "messages", "entities")),
			requiredParameter(textParameter("q", "The text so far.").withExample("state:d")),
			numberParameter("at", 0, maxSuggestText, "The number of characters before the cursor; if absent, all."),
		},
		response: Suggestions{}, handle: (*handler).suggest,
	}}
}

func (d *handler) suggest(c echo.Context) error {
	q := query(c)
	if !q.Has("of") || !q.Has("q") {
		return engine.Refuse(engine.ErrArgument, "The query parameters 'of' and 'q' are required: the grammar, and the text so far.")
	}
	text := q.Get("q")
	n := utf8.RuneCountInString(text)
	if n > maxSuggestText {
		return engine.Refuse(engine.ErrOutOfRange, "The text to complete may have at most %d characters.", maxSuggestText)
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), suggestTimeout)
	defer cancel()
	propose := d.suggestions.Messages
	if q.Get("of") == "entities" {
		propose = d.suggestions.Entities
	}
	found, err := propose(ctx, text, int(number(c, "at", int64(n))))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentSuggestions(found))
}

func presentSuggestions(a suggest.Suggestions) Suggestions {
	out := Suggestions{From: a.From, To: a.To, Suggestions: []Suggestion{}}
	for _, p := range a.Proposals {
		out.Suggestions = append(out.Suggestions, Suggestion{Text: p.Text, Kind: string(p.Kind), Note: p.Note})
	}
	return out
}
