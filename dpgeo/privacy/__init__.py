"""The only way from private counts to noisy ones: views, opaque counts, the Meter, exact noise."""
