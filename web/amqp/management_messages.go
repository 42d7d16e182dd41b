package amqp

import (
	"context"

	"mayfly/engine"
)

func peek(context.Context, *call) (done, error) { return done{}, errLater }

func schedule(context.Context, *call) (done, error) { return done{}, errLater }

func receiveDeferred(context.Context, *call) (done, error) { return done{}, errLater }

var errLater = &engine.Refusal{Kind: engine.ErrNotImplemented, Text: "Not yet."}
