"""URL configuration of the desk and of its sign-in page."""

from django.contrib.auth import views as doors
from django.urls import path

from dpgeo.accounts.second_factor import opens_before_second_factor
from dpgeo.accounts.sign_in_limits import SignIn
from dpgeo.pages.desk import (
    account,
    audit,
    campaigns,
    check,
    confirming,
    cost,
    datasets,
    home,
    jobs,
    keys,
    kinds,
    layers,
    operation,
    oversight,
    passwords,
    people,
    places,
    publishing,
    rehearsal,
    release,
    requesting,
    second_factor,
    series,
    uploads,
    webhooks,
    where,
)

DATASET = "desk/datasets/<slug:slug>"
UPLOAD = "desk/uploads/<uuid:upload_id>"

urlpatterns = [
    path("accounts/login/", SignIn.as_view(), name="login"),
    path("accounts/login/", SignIn.as_view(), name="account_login"),  # allauth's name for it
    path("accounts/logout/", opens_before_second_factor(doors.LogoutView.as_view()), name="logout"),
    path("accounts/second-factor/", second_factor.prove, name="mfa_authenticate"),
    path("accounts/password/", passwords.AskForPassword.as_view(), name="password_reset"),
    path(
        "accounts/password/sent/", doors.PasswordResetDoneView.as_view(), name="password_reset_done"
    ),
    path(
        "accounts/password/<uidb64>/<token>/",
        doors.PasswordResetConfirmView.as_view(),
        name="password_reset_confirm",
    ),
    path(
        "accounts/password/set/",
        doors.PasswordResetCompleteView.as_view(),
        name="password_reset_complete",
    ),
    path("desk/", home.desk, name="desk"),
    path("desk/ledger/", home.ledger, name="desk-ledger"),
    path("desk/account/", account.account, name="desk-account"),
    path(
        "desk/account/sessions/<int:session_id>/end/",
        account.end_session,
        name="desk-session-end",
    ),
    path("desk/account/confirm/", confirming.confirm, name="desk-confirm"),
    path("desk/account/second-factor/", second_factor.factors, name="desk-second-factor"),
    path("desk/account/second-factor/app/", second_factor.app, name="desk-factor-app"),
    path(
        "desk/account/second-factor/recovery-codes/",
        second_factor.renew_codes,
        name="desk-recovery-codes",
    ),
    path(
        "desk/account/second-factor/<int:factor_id>/remove/",
        second_factor.remove,
        name="desk-factor-remove",
    ),
    path("desk/audit/", audit.audit, name="desk-audit"),
    path("desk/audit/export.<str:suffix>", audit.audit_export, name="desk-audit-export"),
    path("desk/campaigns/", campaigns.campaigns, name="desk-campaigns"),
    path("desk/campaigns/<str:campaign_id>/change/", campaigns.change, name="desk-campaign-change"),
    path("desk/campaigns/<str:campaign_id>/delete/", campaigns.delete, name="desk-campaign-delete"),
    path("desk/keys/", keys.keys, name="desk-keys"),
    path("desk/keys/<int:key_id>/rotate/", keys.rotate, name="desk-key-rotate"),
    path("desk/keys/<int:key_id>/revoke/", keys.revoke, name="desk-key-revoke"),
    path("desk/privacy/", oversight.oversight, name="desk-oversight"),
    path("desk/privacy/<slug:slug>/<int:year>/", oversight.report, name="desk-report"),
    path("desk/webhooks/", webhooks.webhooks, name="desk-webhooks"),
    path("desk/webhooks/<int:webhook_id>/delete/", webhooks.delete, name="desk-webhook-delete"),
    path("desk/deliveries/<uuid:delivery_id>/", webhooks.repeat, name="desk-delivery-repeat"),
    path("desk/operation/", operation.operation, name="desk-operation"),
    path("desk/new/", where.where, name="desk-where"),
    path("desk/places.json", places.suggestions, name="desk-places"),
    path("desk/place.json", places.place, name="desk-place"),
    path("desk/land.json", datasets.land, name="desk-land"),
    path("desk/datasets/new/", datasets.dataset_new, name="desk-dataset-new"),
    path(f"{DATASET}/", datasets.dataset, name="desk-dataset"),
    path(f"{DATASET}/edit/", datasets.dataset_edit, name="desk-dataset-edit"),
    path(f"{DATASET}/ledger.csv", datasets.dataset_ledger, name="desk-dataset-ledger"),
    path(f"{DATASET}/erase/", datasets.dataset_erase, name="desk-dataset-erase"),
    path(f"{DATASET}/people/", people.people, name="desk-people"),
    path(f"{DATASET}/series/", series.series, name="desk-series"),
    path(f"{DATASET}/layers/", layers.layers, name="desk-layers"),
    path(f"{DATASET}/ready-layers/", layers.layer_ready, name="desk-layer-ready"),
    path(f"{DATASET}/layers/<slug:name>/remove/", layers.layer_remove, name="desk-layer-remove"),
    path(f"{DATASET}/upload/", uploads.upload_new, name="desk-upload-new"),
    path(f"{DATASET}/map/", kinds.kind, name="desk-kind"),
    path(f"{DATASET}/map/cost/", cost.cost, name="desk-cost"),
    path(f"{DATASET}/map/publish/", publishing.publish, name="desk-publish"),
    path(
        f"{DATASET}/map/rehearsal/<str:settings>/<str:name>", cost.rehearsal, name="desk-rehearsal"
    ),
    path(f"{DATASET}/release/", requesting.release_new, name="desk-release-new"),
    path(f"{DATASET}/quote", requesting.quote, name="desk-quote"),
    path(f"{DATASET}/ground.json", rehearsal.ground, name="desk-ground"),
    path(f"{DATASET}/practice/", uploads.practice, name="desk-practice"),
    path(f"{DATASET}/register/", uploads.register, name="desk-register"),
    path(f"{UPLOAD}/", uploads.upload, name="desk-upload"),
    path(f"{UPLOAD}/place/", check.other_place, name="desk-upload-place"),
    path(f"{UPLOAD}/columns/", uploads.upload_columns, name="desk-upload-columns"),
    path(f"{UPLOAD}/remove/", uploads.upload_remove, name="desk-upload-remove"),
    path("desk/releases/<str:release_id>/", release.release, name="desk-release"),
    path("desk/releases/<str:release_id>/notes/", release.notes, name="desk-release-notes"),
    path("desk/releases/<str:release_id>/<slug:action>/", release.act, name="desk-release-act"),
    path("desk/jobs/<uuid:job_id>.json", jobs.job, name="desk-job"),
]
