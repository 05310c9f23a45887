"""Models: what a change would bring, before it is made. Forecasts are kept, and scored later."""
