"""URL configuration of the desk and of its sign-in page."""

from django.contrib.auth import views as doors
from django.urls import path

from dpgeo.accounts.sign_in_limits import SignIn
from dpgeo.pages.desk import (
    campaigns,
    datasets,
    home,
    jobs,
    keys,
    layers,
    passwords,
    rehearsal,
    release,
    requesting,
    uploads,
)

urlpatterns = [
    path("accounts/login/", SignIn.as_view(), name="login"),
    path("accounts/logout/", doors.LogoutView.as_view(), name="logout"),
    path("accounts/password/", passwords.AskForPassword.as_view(), name="password_reset"),
    path(
        "accounts/password/sent/",
        doors.PasswordResetDoneView.as_view(),
        name="password_reset_done",
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
    path("desk/campaigns/", campaigns.campaigns, name="desk-campaigns"),
    path("desk/campaigns/<str:campaign_id>/change/", campaigns.change, name="desk-campaign-change"),
    path("desk/campaigns/<str:campaign_id>/delete/", campaigns.delete, name="desk-campaign-delete"),
    path("desk/keys/", keys.keys, name="desk-keys"),
    path("desk/keys/<int:key_id>/revoke/", keys.revoke, name="desk-key-revoke"),
    path("desk/land.json", datasets.land, name="desk-land"),
    path("desk/datasets/new/", datasets.dataset_new, name="desk-dataset-new"),
    path("desk/datasets/<slug:slug>/", datasets.dataset, name="desk-dataset"),
    path("desk/datasets/<slug:slug>/edit/", datasets.dataset_edit, name="desk-dataset-edit"),
    path(
        "desk/datasets/<slug:slug>/ledger.csv", datasets.dataset_ledger, name="desk-dataset-ledger"
    ),
    path("desk/datasets/<slug:slug>/erase/", datasets.dataset_erase, name="desk-dataset-erase"),
    path("desk/datasets/<slug:slug>/layers/", layers.layers, name="desk-layers"),
    path(
        "desk/datasets/<slug:slug>/layers/<slug:name>/remove/",
        layers.layer_remove,
        name="desk-layer-remove",
    ),
    path("desk/datasets/<slug:slug>/upload/", uploads.upload_new, name="desk-upload-new"),
    path("desk/datasets/<slug:slug>/release/", requesting.release_new, name="desk-release-new"),
    path("desk/datasets/<slug:slug>/quote", requesting.quote, name="desk-quote"),
    path("desk/datasets/<slug:slug>/ground.json", rehearsal.ground, name="desk-ground"),
    path("desk/uploads/<uuid:upload_id>/", uploads.upload, name="desk-upload"),
    path(
        "desk/uploads/<uuid:upload_id>/columns/", uploads.upload_columns, name="desk-upload-columns"
    ),
    path("desk/uploads/<uuid:upload_id>/remove/", uploads.upload_remove, name="desk-upload-remove"),
    path("desk/releases/<str:release_id>/", release.release, name="desk-release"),
    path("desk/releases/<str:release_id>/<slug:action>/", release.act, name="desk-release-act"),
    path("desk/jobs/<uuid:job_id>.json", jobs.job, name="desk-job"),
]
