package api

import (
	"context"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"mayfly/engine/suggest"
)

const (
	suggestedText = 2000            // characters of a text that is being written
	suggestLimit  = 2 * time.Second // that an answer may take
)

// Suggested is the answer of GET /suggest: what can be written in the place of a
// part of the text.
type Suggested struct {
	From        int          `json:"from"` // characters of the text, from 0, before that part
	To          int          `json:"to"`   // and before what follows it
	Suggestions []Suggestion `json:"suggestions"`
}

// A Suggestion is one text that can be written there.
type Suggestion struct {
	Text string `json:"text"`           // a value, a whole term, or a key with its colon
	Kind string `json:"kind"`           // "key", "value" or "entity"
	Note string `json:"note,omitempty"` // of a key, a term with it; of an entity, what it is
}

func suggestRoutes() []route {
	return []route{{
		method: "GET", path: "/suggest", id: "suggest", group: groupMessages, summary: "How a search or a filter of entities could go on",
		ask: "of=messages&q=state:d&at=7",
		about: "Keys and values are those of the grammar, names of entities, and what a sample of the messages has: reasons, properties, paths in bodies of JSON. " +
			"The sample is a few seconds old at most. What is not suggested can be asked for all the same.",
		query: []parameter{
			needed(one("of", "What is searched: messages, as at /search, or entities, as by the filter at /entities.", "messages", "entities")),
			needed(word("q", "The text so far.").like("state:d")),
			whole("at", 0, suggestedText, "How many characters of it are before the cursor; all if absent."),
		},
		gives: Suggested{}, serve: (*door).suggest,
	}}
}

func (d *door) suggest(c echo.Context) error {
	q := query(c)
	if !q.Has("of") || !q.Has("q") {
		return argument("The query parameters 'of' and 'q' say what is searched, and for what so far.")
	}
	text := q.Get("q")
	n := utf8.RuneCountInString(text)
	if n > suggestedText {
		return outOfRange("A text to go on with has at most %d characters.", suggestedText)
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), suggestLimit)
	defer cancel()
	propose := d.suggests.Messages
	if q.Get("of") == "entities" {
		propose = d.suggests.Entities
	}
	found, err := propose(ctx, text, int(number(c, "at", int64(n))))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentSuggested(found))
}

func presentSuggested(a suggest.Answer) Suggested {
	out := Suggested{From: a.From, To: a.To, Suggestions: []Suggestion{}}
	for _, p := range a.All {
		out.Suggestions = append(out.Suggestions, Suggestion{Text: p.Text, Kind: string(p.Kind), Note: p.Note})
	}
	return out
}
